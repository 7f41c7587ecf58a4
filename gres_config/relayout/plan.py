"""What a change of MIG layouts means: which nodes, which steps, and the files in between.

Slurm does not repartition by itself, and changing the File counts of a node that is not drained
kills its jobs. So each node is emptied, changed, verified and put back, one after the other.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from gres_config.errors import GresConfigError
from gres_config.hostlist import fold_hostlist
from gres_config.inventory import GpuMode, GpuSpec, Inventory, NodeGroup, list_gres_types


class RelayoutError(GresConfigError):
    """A layout that cannot be changed, or a step that failed; the node stays as it is."""


class Step(StrEnum):
    """What happens to a node, in this order.

    slurmctld takes up the files before slurmd starts: a node that registers with fewer GRES than
    slurmctld expects turns INVAL, and Slurm replaces the reason of its drain.
    """

    DRAIN = "drain"
    WAIT = "wait for idle"
    STOP = "stop slurmd and what holds the GPUs"
    APPLY = "apply the layout"
    VERIFY_DEVICES = "verify the devices"
    WRITE = "write both files"
    LOAD = "let slurmctld take them up"
    START = "start slurmd"
    VERIFY_NODE = "verify the node"
    RESUME = "resume"


@dataclass(frozen=True, slots=True)
class NodeChange:
    """One node before and after; both groups hold this node alone.

    `profile_name` is its name in mig-parted.yaml of the new inventory, "" where it has no MIG.
    """

    node: str
    before: NodeGroup
    after: NodeGroup
    profile_name: str

    def describe(self) -> str:
        """Return "gpu:1g.10gb:7 -> gpu:3g.40gb:2"."""
        return f"{_render_units(self.before)} -> {_render_units(self.after)}"


@dataclass(frozen=True, slots=True)
class Plan:
    """The nodes to change, in their order. `plan_id` is the same for the same change.

    `chosen` are the nodes to change now: the journal of the whole change knows of the others.
    """

    plan_id: str
    old: Inventory
    new: Inventory
    changes: tuple[NodeChange, ...]
    chosen: frozenset[str]

    def list_chosen(self) -> tuple[NodeChange, ...]:
        """Return the changes that are to be made now."""
        return tuple(change for change in self.changes if change.node in self.chosen)

    def list_new_tres(self) -> tuple[str, ...]:
        """Return the TRES of GRES types that no node had before, "gres/gpu:3g.40gb".

        slurmctld counts and limits a new TRES only after it started anew (slurm.conf(5),
        AccountingStorageTRES), so that it has to know it before a node has it.
        """
        known = list_gres_types(self.old.node_groups)
        types = list_gres_types(self.new.node_groups)
        return tuple(f"gres/gpu:{kind}" for kind in types if kind not in known)


def make_plan(old: Inventory, new: Inventory, nodes: Collection[str] = ()) -> Plan:
    """Return what leads from one inventory to the other; `nodes` narrows it to some of them.

    RelayoutError where they differ in more than the layouts of GPUs, or not at all.
    """
    before, after = _split_groups(old), _split_groups(new)
    if list(before) != list(after) or _strip(old) != _strip(new):
        raise RelayoutError("the inventories differ in more than MIG layouts: see `diff`")
    changed = [node for node in before if before[node] != after[node]]
    for node in changed:
        _check_change(node, before[node], after[node])
    unknown = [node for node in nodes if node not in changed]
    if unknown:
        raise RelayoutError(f"nothing changes on {fold_hostlist(unknown)}")
    names = _name_profiles(new)
    changes = tuple(NodeChange(node, before[node], after[node], names[node]) for node in changed)
    if not changes:
        raise RelayoutError("no layout changes between these inventories")
    text = repr((old.cluster_name, changes))
    plan_id = hashlib.sha256(text.encode()).hexdigest()[:8]
    return Plan(plan_id, old, new, changes, frozenset(nodes or changed))


def _split_groups(inventory: Inventory) -> dict[str, NodeGroup]:
    return {
        node: replace(group, hostlist=node)
        for group in inventory.node_groups
        for node in group.nodes
    }


def _strip(inventory: Inventory) -> Inventory:
    """Return the inventory without what may change: how nodes are grouped, and their GPUs."""
    return replace(inventory, node_groups=())


def _check_change(node: str, before: NodeGroup, after: NodeGroup) -> None:
    """Only the layout may change: not the GPUs themselves, nor anything else of the node."""
    if replace(before, gpus=()) != replace(after, gpus=()):
        raise RelayoutError(f"{node}: more than the MIG layout changes: see `diff`")
    if [spec.model for spec in _list_gpus(before)] != [spec.model for spec in _list_gpus(after)]:
        raise RelayoutError(f"{node}: the GPUs themselves change")
    for spec in (*before.gpus, *after.gpus):
        if spec.mode not in (GpuMode.WHOLE, GpuMode.MIG):
            raise RelayoutError(f"{node}: shared GPUs ({spec.mode}) have no MIG layout to change")


def _list_gpus(group: NodeGroup) -> Iterator[GpuSpec]:
    for spec in group.gpus:
        yield from [spec] * spec.count


def _name_profiles(inventory: Inventory) -> Mapping[str, str]:
    """Return each node's name in mig-parted.yaml, as render/mig_parted.py gives it."""
    return {node: group.nodes[0] for group in inventory.node_groups for node in group.nodes}


def _render_units(group: NodeGroup) -> str:
    units = group.count_units().items()
    return ",".join(f"gpu:{name}:{count}" if name else f"gpu:{count}" for name, count in units)


def mix_inventories(plan: Plan, moved: Iterable[str]) -> Inventory:
    """Return the inventory in between: the old one, with `moved` nodes as they will be.

    With no node moved it is the old inventory itself, with all the new one: so that the files are
    the same bytes. In between the types of both are accounted.
    """
    done = set(moved)
    if not done:
        return plan.old
    old, new = _split_groups(plan.old), _split_groups(plan.new)
    if all(node in done or old[node] == new[node] for node in old):
        return plan.new
    groups: list[NodeGroup] = []
    for node in old:
        group = new[node] if node in done else old[node]
        if groups and replace(groups[-1], hostlist=node) == group:
            groups[-1] = replace(groups[-1], hostlist=fold_hostlist([*groups[-1].nodes, node]))
        else:
            groups.append(group)
    return account_new_tres(plan, replace(plan.old, node_groups=tuple(groups)))


def account_new_tres(plan: Plan, inventory: Inventory) -> Inventory:
    """Return the inventory with every new TRES of the plan in AccountingStorageTRES."""
    return replace(inventory, accounting_tres=(*inventory.accounting_tres, *plan.list_new_tres()))
