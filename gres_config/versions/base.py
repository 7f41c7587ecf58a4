"""What this package asks about a Slurm release."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SlurmVersion:
    """A release, e.g. 24.11, as far as configuration of GRES differs between releases.

    autodetect                 values of AutoDetect for GPUs (gres.conf(5)), without "off".
    cgroup_plugins             values of CgroupPlugin (cgroup.conf(5)).
    cgroup_off                 the value with which slurmd starts where it can use no cgroup.
    has_gpu_usage_tres         gres/gpuutil and gres/gpumem may be accounted.
    has_restricted_cores       RestrictedCoresPerGPU of a node.
    has_sharing_flags          Flags one_sharing and all_sharing of gres.conf.
    shares_beside_mig_from     the patch release from which a cluster may have MIG instances and
                               shared GPUs; None: never.
    reconfigures_gres          `scontrol reconfigure` takes up another count of GRES of a node;
                               before, the node stays INVAL until slurmctld starts anew.
    patch                      the 5 of 24.11.5; None where the inventory names no patch release.
    """

    name: str
    autodetect: frozenset[str]
    cgroup_plugins: frozenset[str]
    cgroup_off: str
    has_gpu_usage_tres: bool = False
    has_restricted_cores: bool = False
    has_sharing_flags: bool = False
    shares_beside_mig_from: int | None = None
    reconfigures_gres: bool = False
    patch: int | None = None

    @property
    def has_shares_beside_mig(self) -> bool:
        """Whether one cluster may have MIG instances and shared GPUs."""
        first = self.shares_beside_mig_from
        return first is not None and (self.patch or 0) >= first
