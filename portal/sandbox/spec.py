"""What the sandbox is made of: its nodes and partitions, and the Unix users it may create."""

from dataclasses import dataclass

from gres_config.inventory import GpuSpec, NodeGroup, Partition

WHOLE = GpuSpec("a100", "A100-80GB", 8)
GPU_NODES = NodeGroup(("gpu1", "gpu2"), cpus=64, memory_mib=512_000, gpus=(WHOLE,))
MIG_NODES = NodeGroup(
    ("mig1", "mig2"),
    cpus=64,
    memory_mib=512_000,
    gpus=(
        GpuSpec("a100", "A100-80GB", 4),
        GpuSpec("a100", "A100-80GB", 2, ("3g.40gb", "3g.40gb")),
        GpuSpec("a100", "A100-80GB", 2, ("1g.10gb",) * 7),
    ),
)
ALL_NODES = (*GPU_NODES.names, *MIG_NODES.names)


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """A sandbox's shape. `users` must all begin with `user_prefix`.

    memory_per_cpu_mib is DefMemPerCPU: without it every job would take a whole node's memory.
    """

    cluster_name: str = "sluiceway"
    user_prefix: str = "sw-"
    users: tuple[str, ...] = ()
    node_groups: tuple[NodeGroup, ...] = (GPU_NODES, MIG_NODES)
    partitions: tuple[Partition, ...] = (
        Partition("gpu", ALL_NODES, priority_tier=10, preempt_mode="OFF", is_default=True),
        Partition("spot", ALL_NODES, priority_tier=1, preempt_mode="REQUEUE"),
    )
    memory_per_cpu_mib: int = 1000

    @property
    def node_names(self) -> tuple[str, ...]:
        """Return the names of all nodes, in the order of the groups."""
        return tuple(name for group in self.node_groups for name in group.names)
