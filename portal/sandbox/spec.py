"""What the sandbox is made of: its inventory, and the Unix users it may create."""

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from gres_config.inventory import Inventory, NodeGroup
from gres_config.load import load_inventory

INVENTORY_FILE = Path(__file__).with_name("cluster.yaml")


@cache
def load_sandbox_inventory() -> Inventory:
    """Return the nodes and partitions of cluster.yaml."""
    return load_inventory(INVENTORY_FILE)


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """A sandbox's shape. `users` must all begin with `user_prefix`.

    `cluster_name` stands for the inventory's, so that two sandboxes can have the same nodes.
    """

    cluster_name: str = field(default_factory=lambda: load_sandbox_inventory().cluster_name)
    user_prefix: str = "sw-"
    users: tuple[str, ...] = ()
    inventory: Inventory = field(default_factory=load_sandbox_inventory)

    @property
    def node_groups(self) -> tuple[NodeGroup, ...]:
        """Return the groups of equal nodes."""
        return self.inventory.node_groups

    @property
    def node_names(self) -> tuple[str, ...]:
        """Return the names of all nodes, in the order of the groups."""
        return self.inventory.node_names
