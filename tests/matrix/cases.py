"""What Slurm refuses: a small configuration for each rule of check, and what each release does.

Found by starting the daemons. Where a release accepts what another refuses, `but` says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tests.matrix.configs import make_common_lines

HARDWARE = "Sockets=2 CoresPerSocket=16 ThreadsPerCore=1 RealMemory=100000"
CAPS = "/dev/nvidia-caps/nvidia-cap"
MIG = f"/dev/nvidia0,{CAPS}12,{CAPS}13"
FOUR = "NodeName=n1 Name=gpu Type=a100 File=/dev/nvidia[0-3]\n"
ONE = "NodeName=n1 Name=gpu Type=a100 File=/dev/nvidia0\n"


class Outcome(StrEnum):
    """What a release does with a configuration."""

    CONTROLLER_DIES = "slurmctld ends"
    NODE_DIES = "slurmd ends"
    DRAINS = "the node drains"
    ACCEPTS = "the node is idle"


CONTROLLER, NODE, DRAINS, ACCEPTS = Outcome


def make_slurm(gres: str, *, types: str = "gpu", hardware: str = HARDWARE, more: str = "") -> str:
    """Return the lines of one node, n1, in one partition."""
    words = f" Gres={gres}" if gres else ""
    return (
        f"GresTypes={types}\nNodeName=n1 {hardware}{words} State=UNKNOWN\n{more}"
        "PartitionName=p Nodes=n1 Default=YES\n"
    )


@dataclass(frozen=True, slots=True)
class Case:
    """A configuration and what becomes of it; `says` is part of the daemon's words.

    `rule` is the one of check that has to find it. `but` maps releases to another outcome;
    `accepted_rules` names the rule that finds it where such a release accepts it.
    """

    rule: str
    slurm: str
    gres: str
    outcome: Outcome
    says: str
    but: Mapping[str, Outcome] = field(default_factory=dict)
    accepted_rules: Mapping[str, str] = field(default_factory=dict)
    absent: tuple[str, ...] = ()
    common: str | None = None
    name: str = ""

    def get_outcome(self, release: str) -> Outcome:
        return self.but.get(release, self.outcome)

    def __str__(self) -> str:
        return self.name or self.rule


def _two(first: str, second: str) -> str:
    """Return two gres.conf lines of n1, for two GPUs."""
    return f"NodeName=n1 Name=gpu {first}\nNodeName=n1 Name=gpu {second}\n"


A, B = "Type=a100 File=/dev/nvidia0", "Type=a100 File=/dev/nvidia1"
TWO = make_slurm("gpu:a100:2")
SHARED = make_slurm("gpu:a100:1,shard:4", types="gpu,shard")
CLOUD = (
    "NodeName=c1 CPUs=4 RealMemory=1000 Gres=gpu:a100:1 State=CLOUD\n"
    "SuspendProgram=/bin/true\nResumeProgram=/bin/true\nSuspendTime=600\n"
)

GRES_CONF = (
    Case(
        "file-and-multiple-files",
        make_slurm("gpu:1g.10gb:1"),
        f"NodeName=n1 Name=gpu Type=1g.10gb File=/dev/nvidia0 MultipleFiles={MIG}\n",
        NODE,
        "File and MultipleFiles options are mutually exclusive",
    ),
    Case(
        "multiple-files-of-one",
        make_slurm("gpu:1g.10gb:1"),
        "NodeName=n1 Name=gpu Type=1g.10gb MultipleFiles=/dev/nvidia0\n",
        NODE,
        "MultipleFiles does not contain multiple files",
    ),
    Case(
        "count-differs-from-files",
        make_slurm("gpu:a100:4"),
        "NodeName=n1 Name=gpu Type=a100 Count=3 File=/dev/nvidia[0-3]\n",
        NODE,
        "count does not match File value",
    ),
    Case(
        "count-unreadable",
        make_slurm("gpu:a100:4"),
        "NodeName=n1 Name=gpu Type=a100 Count=four File=/dev/nvidia[0-3]\n",
        NODE,
        "Invalid GRES record for gpu, invalid count",
    ),
    Case(
        "file-on-some-records",
        TWO,
        _two(A, "Type=a100 Count=1"),
        NODE,
        'some records have "File" specification while others do not',
    ),
    Case(
        "type-on-some-records",
        TWO,
        _two(A, "File=/dev/nvidia1"),
        NODE,
        'some records have "Type=" specification while others do not',
    ),
    Case(
        "bare-record-twice",
        make_slurm("gpu:2"),
        "Name=gpu\nName=gpu\n",
        NODE,
        "duplicate records for gpu",
    ),
    Case(
        "bare-record-twice",
        make_slurm("gpu:2"),
        "AutoDetect=nvml\nName=gpu\nName=gpu\n",
        NODE,
        "duplicate records for gpu",
        name="bare-record-twice-with-autodetect",
    ),
    Case(
        "env-flags-differ",
        TWO,
        _two(f"{A} Flags=nvidia_gpu_env", f"{B} Flags=amd_gpu_env"),
        NODE,
        "does not match env flags for previous GRES",
    ),
    Case(
        "sharing-flags-differ",
        make_slurm("gpu:a100:2,shard:8", types="gpu,shard"),
        _two(A, B)
        + "NodeName=n1 Name=shard Count=4 File=/dev/nvidia0 Flags=one_sharing\n"
        + "NodeName=n1 Name=shard Count=4 File=/dev/nvidia1 Flags=all_sharing\n",
        NODE,
        "does not match env flags for previous GRES",
        but={"22.05": ACCEPTS, "26.05": ACCEPTS},
        accepted_rules={"22.05": "sharing-flag-unknown", "26.05": "sharing-flags-mixed"},
    ),
    Case(
        "no-env-with-env",
        make_slurm("gpu:a100:1"),
        f"NodeName=n1 Name=gpu {A} Flags=no_gpu_env,nvidia_gpu_env\n",
        NODE,
        "mutually exclusive",
    ),
    Case(
        "device-file-missing",
        TWO,
        "NodeName=n1 Name=gpu Type=a100 File=/dev/nvidia[0-1]\n",
        NODE,
        "can't stat gres.conf file /dev/nvidia1",
        absent=("/dev/nvidia1",),
    ),
    Case(
        "autodetect-conflict",
        TWO,
        "NodeName=n1 AutoDetect=nvml\n"
        "NodeName=n1 AutoDetect=off Name=gpu Type=a100 File=/dev/nvidia[0-1]\n",
        NODE,
        "duplicate node-local AutoDetect specification does not match the first",
    ),
    Case(
        "cloud-with-autodetect",
        make_slurm("gpu:a100:1", more=CLOUD),
        "AutoDetect=nvml\n" + ONE.replace("n1", "n1 AutoDetect=off"),
        CONTROLLER,
        'Cannot use AutoDetect on cloud node "c1"',
        but={"24.11": ACCEPTS, "26.05": ACCEPTS},
        accepted_rules=dict.fromkeys(("24.11", "26.05"), "cloud-autodetect-ignored"),
    ),
    Case(
        "line-unreadable",
        make_slurm("gpu:a100:1"),
        "NodeName=n1 Name=gpu Type=a100 Fil=/dev/nvidia0\n",
        NODE,
        "error opening/reading",
        name="key-unknown-in-gres-conf",
    ),
)

COUNTS = (
    Case(
        "fewer-than-configured",
        make_slurm("gpu:a100:4"),
        "NodeName=n1 Name=gpu Type=a100 File=/dev/nvidia[0-2]\n",
        DRAINS,
        "count reported lower than configured (3 < 4)",
    ),
    Case(
        "fewer-than-configured",
        make_slurm("gpu:a100:2"),
        "",
        DRAINS,
        "count reported lower than configured (0 < 2)",
        name="no-gres-conf",
    ),
    Case(
        "type-not-in-gres-conf",
        make_slurm("gpu:3g.40gb:1"),
        f"NodeName=n1 Name=gpu Type=3g.39gb MultipleFiles={MIG}\n",
        DRAINS,
        "count reported lower than configured (0 < 1)",
    ),
    Case(
        "type-spelled-otherwise",
        make_slurm("gpu:A100:4"),
        FOUR,
        DRAINS,
        "gres/gpu type",
        but={"22.05": ACCEPTS},
    ),
    Case(
        "gpu-without-file",
        make_slurm("gpu:a100:2"),
        "NodeName=n1 Name=gpu Type=a100 Count=2\n",
        DRAINS,
        "count reported lower than configured (0 < 2)",
    ),
    Case(
        "cores-cut-socket",
        TWO,
        _two(f"{A} Cores=0-7", f"{B} Cores=16-31"),
        DRAINS,
        "doesn't match socket boundaries",
        but={"22.05": ACCEPTS},
    ),
    Case(
        "cores-beyond-node",
        make_slurm("gpu:a100:1"),
        f"NodeName=n1 Name=gpu {A} Cores=48-63\n",
        DRAINS,
        "Invalid GRES data for gpu, Cores=48-63",
        but={"22.05": ACCEPTS},
        accepted_rules={"22.05": "cores-beyond-node-ignored"},
    ),
    Case(
        "links-too-long",
        TWO,
        _two(f"{A} Links=-1,2,2,2", f"{B} Links=2,-1,2,2"),
        DRAINS,
        "Invalid GRES Links value",
    ),
    Case(
        "shared-file-without-gpu",
        make_slurm("gpu:a100:1,shard:4", types="gpu,shard"),
        f"{ONE}NodeName=n1 Name=shard Count=4 File=/dev/nvidia7\n",
        DRAINS,
        "without matching gres/",
    ),
    Case(
        "shared-file-without-gpu",
        make_slurm("gpu:1g.10gb:1,shard:4", types="gpu,shard"),
        f"NodeName=n1 Name=gpu Type=1g.10gb MultipleFiles={MIG}\n"
        "NodeName=n1 Name=shard Count=4 File=/dev/nvidia0\n",
        DRAINS,
        "gres/shard count reported lower than configured (0 < 4)",
        but={"22.05": ACCEPTS},
        accepted_rules={"22.05": "shard-on-mig"},
        name="shared-file-of-a-mig-instance",
    ),
)

SLURM_CONF = (
    Case(
        "typed-with-untyped",
        make_slurm("gpu:a100:2,gpu:2"),
        FOUR,
        NODE,
        "Some gpu GRES in slurm.conf have a type while others do not",
    ),
    Case(
        "shared-without-gpu-type",
        make_slurm("shard:4", types="shard"),
        "NodeName=n1 Name=shard Count=4\n",
        CONTROLLER,
        "requires that gres/gpu also be configured",
    ),
    Case(
        "shared-needs-cons-tres",
        SHARED,
        f"{ONE}NodeName=n1 Name=shard Count=4\n",
        CONTROLLER,
        "Use of shared gres requires the use of select/cons_tres",
        common=make_common_lines(select="select/linear"),
    ),
    Case(
        "select-parameters-without-unit",
        make_slurm("gpu:a100:1"),
        ONE,
        CONTROLLER,
        "Invalid SelectTypeParameters",
        common=make_common_lines().replace("CR_Core_Memory", "CR_Memory"),
    ),
    Case(
        "shared-without-gpu",
        make_slurm("shard:4", types="gpu,shard"),
        "NodeName=n1 Name=shard Count=4\n",
        NODE,
        "specified without any",
    ),
    Case(
        "shared-fewer-than-configured",
        make_slurm("gpu:a100:1,shard:8", types="gpu,shard"),
        f"{ONE}NodeName=n1 Name=shard Count=4\n",
        NODE,
        "multiple configurations",
    ),
    Case(
        "tres-without-slurmdbd",
        make_slurm("gpu:a100:1", more="AccountingStorageTRES=gres/gpu\n"),
        ONE,
        CONTROLLER,
        "slurmdbd is required to run with TRES",
    ),
    Case(
        "partition-of-unknown-node",
        make_slurm("gpu:a100:1", more="PartitionName=q Nodes=n9\n"),
        ONE,
        CONTROLLER,
        "Invalid node names in partition q",
    ),
    Case(
        "weight-of-unknown-tres",
        make_slurm("gpu:a100:1", more="PartitionName=q Nodes=n1 TRESBillingWeights=gres/fpga=2\n"),
        ONE,
        CONTROLLER,
        "tres weights",
    ),
    Case(
        "weight-of-unknown-tres",
        make_slurm("gpu:a100:1", more="PartitionName=q Nodes=n1 TRESBillingWeights=CPU=1,GPU=2\n"),
        ONE,
        CONTROLLER,
        "tres weights",
        name="weight-of-gpu-without-gres",
    ),
    Case(
        "key-unknown",
        make_slurm("gpu:a100:1", more="GresTipes=gpu\n"),
        ONE,
        CONTROLLER,
        "Unable to process configuration file",
    ),
    Case(
        "node-key-unknown",
        make_slurm("gpu:a100:1", hardware=f"{HARDWARE} Speed=3"),
        ONE,
        CONTROLLER,
        "Unable to process configuration file",
    ),
    Case(
        "partition-key-unknown",
        make_slurm("gpu:a100:1", more="PartitionName=q Nodes=n1 MaxGPUs=3\n"),
        ONE,
        CONTROLLER,
        "Unable to process configuration file",
    ),
    Case(
        "node-twice",
        make_slurm("gpu:a100:1", more=f"NodeName=n1 {HARDWARE}\n"),
        ONE,
        CONTROLLER,
        "Duplicated NodeHostName n1",
    ),
    Case(
        "node-named-all",
        make_slurm("gpu:a100:1", more=f"NodeName=ALL {HARDWARE}\n"),
        ONE,
        CONTROLLER,
        "reserved word",
    ),
    Case(
        "hostlist-unreadable",
        make_slurm("gpu:a100:1", more=f"NodeName=m[3-1] {HARDWARE}\n"),
        ONE,
        CONTROLLER,
        "m[3-1]",
    ),
    Case(
        "line-unreadable",
        make_slurm("gpu:a100:1", more="this is no setting\n"),
        ONE,
        CONTROLLER,
        "Unable to process configuration file",
    ),
)

REFUSED = (*GRES_CONF, *COUNTS, *SLURM_CONF)

# What every release accepts in silence, with what a person would not expect.
IGNORED = (
    Case(
        "gres-without-count",
        make_slurm("gpu:1g.10gb"),
        f"NodeName=n1 Name=gpu Type=1g.10gb MultipleFiles={MIG}\n",
        ACCEPTS,
        "Bad GRES configuration",
    ),
    Case("more-than-configured", TWO, FOUR, ACCEPTS, ""),
    Case(
        "type-not-in-slurm-conf",
        make_slurm("gpu:a100:1"),
        f"{ONE}NodeName=n1 Name=gpu Type=1g.10gb MultipleFiles={MIG}\n",
        ACCEPTS,
        "",
    ),
    Case(
        "gres-name-not-in-grestypes",
        make_slurm("gpu:a100:1,fpga:2"),
        ONE,
        ACCEPTS,
        "",
    ),
    Case(
        "autodetect-unknown",
        make_slurm("gpu:a100:1"),
        f"AutoDetect=nvlm\n{ONE}",
        ACCEPTS,
        "",
    ),
)
