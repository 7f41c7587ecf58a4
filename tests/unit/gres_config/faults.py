"""One small configuration for each rule of check, with the release that it is meant for."""

from dataclasses import dataclass

HEAD = """ClusterName=c
SlurmctldHost=localhost
SelectType=select/cons_tres
AccountingStorageType=accounting_storage/slurmdbd
"""
NODE = "CPUs=32 Sockets=2 CoresPerSocket=16 ThreadsPerCore=1 RealMemory=1000"
A100 = "NodeName=n1 Name=gpu Type=a100 File=/dev/nvidia[0-1]\n"
SHARD = "NodeName=n1 Name=shard Count=8\n"
CAPS = "/dev/nvidia-caps/nvidia-cap"


def write_slurm(
    gres: str = "gpu:a100:2",
    types: str = "gpu",
    node: str = NODE,
    extra: str = "",
    tres: str = "",
    head: str = HEAD,
) -> str:
    """Return a slurm.conf of one node."""
    if not tres:
        tres = "AccountingStorageTRES=gres/gpu,gres/gpu:a100,gres/gpu:1g.10gb,gres/shard,gres/fpga"
    lines = [f"GresTypes={types}"] if types else []
    lines += [tres, extra, f"NodeName=n1 {node}{f' Gres={gres}' if gres else ''}"]
    return head + "".join(f"{line}\n" for line in lines if line)


def write_instances(count: int, kind: str = "1g.10gb") -> str:
    """Return the lines of `count` MIG instances on one GPU."""
    return "".join(
        f"NodeName=n1 Name=gpu Type={kind} MultipleFiles=/dev/nvidia0,{CAPS}{12 + 2 * n},"
        f"{CAPS}{13 + 2 * n}\n"
        for n in range(count)
    )


@dataclass(frozen=True, slots=True)
class Fault:
    """Both files, and the rule that finds something in them at this line of this file."""

    rule: str
    slurm: str
    gres: str
    file: str
    line: int
    release: str = "24.11"
    is_mended: bool = True

    def __str__(self) -> str:
        return self.rule


def gres(rule: str, text: str, line: int = 1, release: str = "24.11", **words: str) -> Fault:
    """Return a fault in gres.conf."""
    return Fault(rule, write_slurm(**words), text, "gres.conf", line, release)


def slurm(rule: str, line: int, text: str = A100, release: str = "24.11", **words: str) -> Fault:
    """Return a fault in slurm.conf."""
    return Fault(rule, write_slurm(**words), text, "slurm.conf", line, release)


def _gpu(words: str) -> str:
    return f"NodeName=n1 Name=gpu Type=a100 File=/dev/nvidia[0-1] {words}\n"


TWO_SHARDS = (
    A100
    + "NodeName=n1 Name=shard Count=4 File=/dev/nvidia0 Flags=one_sharing\n"
    + "NodeName=n1 Name=shard Count=4 File=/dev/nvidia1 Flags=all_sharing\n"
)
FILES = "NodeName=n1 Name=gpu Type=a100 File=/dev/nvidia0"
TWO = "gpu:a100:2"

FAULTS = (
    gres("file-and-multiple-files", _gpu("MultipleFiles=/dev/nvidia0,/dev/nvidia1")),
    gres("multiple-files-of-one", "NodeName=n1 Name=gpu Type=a100 MultipleFiles=/dev/nvidia0\n"),
    gres("count-differs-from-files", _gpu("Count=4")),
    gres("count-unreadable", _gpu("Count=two")),
    gres("count-negative", "Name=fpga Count=-2\n", gres="fpga:1", types="gpu,fpga"),
    gres("file-on-some-records", A100 + "NodeName=n1 Name=gpu Type=a100 Count=1\n", 2),
    gres("type-on-some-records", A100 + "NodeName=n1 Name=gpu File=/dev/nvidia2\n", 2),
    gres("bare-record-twice", "AutoDetect=nvml\nName=gpu\nName=gpu\n", 3),
    gres(
        "env-flags-differ",
        f"{FILES} Flags=nvidia_gpu_env\n{FILES[:-1]}1 Flags=amd_gpu_env\n",
        2,
    ),
    gres("no-env-with-env", _gpu("Flags=no_gpu_env,nvidia_gpu_env")),
    gres("record-without-name", "NodeName=n1 Type=a100 File=/dev/nvidia[0-1]\n"),
    gres("record-for-unknown-node", A100 + A100.replace("n1", "n9"), 2),
    gres(
        "device-in-two-records",
        A100 + "NodeName=n1 Name=gpu Type=b File=/dev/nvidia1\n",
        2,
        gres="gpu:a100:2,gpu:b:1",
    ),
    gres("line-unreadable", A100 + "Type=a100 Name=gpu\n", 2),
    slurm("line-unreadable", 6, extra="KillWait=30 MinJobAge=300", types=""),
    slurm("key-unknown", 7, extra="SlurmctldTimeOuts=3"),
    slurm("node-key-unknown", 7, node=f"{NODE} Topology=a:b", release="24.05"),
    slurm("partition-key-unknown", 7, extra="PartitionName=p Nodes=n1 Tier=3"),
    slurm("gres-name-not-in-grestypes", 5, gres="gpu:a100:2,fpga:1"),
    slurm("gres-name-not-in-grestypes", 6, types=""),
    slurm("tres-not-accounted", 6, tres="AccountingStorageTRES=gres/gpu"),
    slurm("tres-without-slurmdbd", 3, head="ClusterName=c\n"),
    slurm("partition-of-unknown-node", 7, extra="PartitionName=p Nodes=n1,n7"),
    slurm(
        "weight-of-unknown-tres",
        7,
        extra="PartitionName=p Nodes=n1 TRESBillingWeights=CPU=1,gres/gpu:zz=2",
    ),
    slurm(
        "weight-of-unknown-tres",
        7,
        extra="PartitionName=p Nodes=n1 TRESBillingWeights=CPU=1,GPU=2",
    ),
    slurm("select-parameters-without-unit", 7, extra="SelectTypeParameters=CR_Memory"),
    slurm("node-twice", 8, extra="NodeName=n[1-2] CPUs=1"),
    slurm("node-named-all", 7, extra="NodeName=ALL CPUs=1"),
    slurm("typed-with-untyped", 7, gres="gpu:a100:1,gpu:1"),
    slurm("gres-without-count", 7, write_instances(3), gres="gpu:1g.10gb"),
    slurm("gres-count-assumed", 7, FILES + "\n", gres="gpu:a100"),
    slurm("fewer-than-configured", 7, write_instances(3), gres="gpu:1g.10gb:4"),
    gres("fewer-than-configured", "# nothing\n"),
    gres("fewer-than-configured", "Name=fpga Count=1\n", gres="gpu:2,fpga:1", types="gpu,fpga"),
    slurm("type-not-in-gres-conf", 7, gres="gpu:h100:2"),
    slurm("type-not-in-slurm-conf", 7, A100 + write_instances(1)),
    slurm("more-than-configured", 7, gres="gpu:a100:1"),
    slurm("type-dropped", 7, gres="gpu:2"),
    gres("gpu-without-file", "NodeName=n1 Name=gpu Type=a100 Count=2\n"),
    slurm("type-reads-as-number", 7, "", gres="gpu:80gb:2"),
    gres("type-reads-as-number", A100.replace("a100", "8"), gres="gpu:8:2"),
    gres("type-with-sign", A100.replace("a100", "a-100"), gres="gpu:a-100:2"),
    gres("type-spelled-otherwise", A100, gres="gpu:A100:2"),
    slurm("shared-without-gpu-type", 5, "", types="shard", gres="shard:8"),
    slurm(
        "shared-needs-cons-tres",
        3,
        A100 + SHARD,
        types="gpu,shard",
        gres="gpu:a100:2,shard:8",
        head=HEAD.replace("cons_tres", "linear"),
    ),
    slurm(
        "shared-needs-cons-tres",
        4,
        A100 + SHARD,
        release="23.02",
        types="gpu,shard",
        gres="gpu:a100:2,shard:8",
        head=HEAD.replace("SelectType=select/cons_tres\n", ""),
    ),
    slurm("shared-without-gpu", 7, SHARD, types="gpu,shard", gres="shard:8"),
    slurm(
        "shared-fewer-than-configured",
        7,
        A100 + SHARD,
        types="gpu,shard",
        gres="gpu:a100:2,shard:16",
    ),
    gres(
        "shared-file-without-gpu",
        A100 + "NodeName=n1 Name=shard Count=4 File=/dev/nvidia5\n",
        2,
        types="gpu,shard",
        gres="gpu:a100:2,shard:4",
    ),
    gres(
        "shared-file-without-gpu",
        write_instances(2) + "NodeName=n1 Name=shard Count=4 File=/dev/nvidia0\n",
        3,
        types="gpu,shard",
        gres="gpu:1g.10gb:2,shard:4",
    ),
    gres(
        "one-with-all-sharing",
        A100 + SHARD.strip() + " Flags=one_sharing,all_sharing\n",
        2,
        types="gpu,shard",
        gres="gpu:a100:2,shard:8",
    ),
    *(
        gres(rule, TWO_SHARDS, 3, release, types="gpu,shard", gres="gpu:a100:2,shard:8")
        for rule, release in (("sharing-flags-differ", "24.11"), ("sharing-flags-mixed", "26.05"))
    ),
    gres(
        "sharing-flag-unknown",
        TWO_SHARDS,
        2,
        "22.05",
        types="gpu,shard",
        gres="gpu:a100:2,shard:8",
    ),
    slurm(
        "shard-on-mig",
        7,
        write_instances(2) + SHARD,
        release="23.02.6",
        types="gpu,shard",
        gres="gpu:1g.10gb:2,shard:8",
    ),
    gres(
        "autodetect-conflict", f"NodeName=n1 AutoDetect=off\nNodeName=n1 AutoDetect=nvml\n{A100}", 2
    ),
    gres("autodetect-unknown", "AutoDetect=nvidia\n" + A100, release="22.05"),
    gres("autodetect-unknown", "NodeName=n1 AutoDetect=cuda\n" + A100),
    gres("autodetect-without-node", "Name=gpu AutoDetect=off Type=a100 File=/dev/nvidia[0-1]\n"),
    gres("autodetect-nvidia-with-mig", "AutoDetect=nvidia\n", gres="gpu:1g.10gb:7"),
    gres(
        "cloud-with-autodetect",
        "AutoDetect=nvml\n",
        release="23.02",
        node=f"{NODE} State=CLOUD",
    ),
    gres("cloud-autodetect-ignored", "AutoDetect=nvml\n", node=f"{NODE} State=CLOUD"),
    gres("cores-beyond-node", _gpu("CPUs=24-31,48-55")),
    gres("cores-beyond-node", _gpu("Cores=a-b")),
    gres("cores-beyond-node-ignored", _gpu("Cores=32-47"), release="24.05"),
    gres("cores-cut-socket", _gpu("Cores=0-7")),
    gres(
        "cores-cut-socket",
        _gpu("Cores=0-31"),
        release="25.11",
        node="Sockets=4 CoresPerSocket=16 RealMemory=1000",
    ),
    gres("cores-on-some-records", f"{FILES} Cores=0-15\n{FILES[:-1]}1\n", 2),
    gres("links-unreadable", f"{FILES} Links=a,4\n{FILES[:-1]}1\n"),
    gres("links-on-several-files", _gpu("Links=-1,4")),
    gres("links-too-long", f"{FILES} Links=-1,4,4\n{FILES[:-1]}1\n"),
)
UNMENDED = (
    slurm("hostlist-unreadable", 7, extra="NodeName=m[1- CPUs=1"),
    slurm("cloud-without-lines", 7, "", node=f"{NODE} State=CLOUD"),
    slurm("type-matches-more", 7, "AutoDetect=nvml\n", gres="gpu:1g.10gb:1,gpu:1g.10gb+me:1"),
)
