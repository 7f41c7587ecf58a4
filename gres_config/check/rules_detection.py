"""AutoDetect, and the cores and links of devices."""

from collections.abc import Iterator

from gres_config.check.config import ClusterConfig
from gres_config.check.finding import Effect, Finding, RuleBook, Severity
from gres_config.check.mending import make_finding, make_node_finding, render_pair, rewrite
from gres_config.check.rules_counts import count_configured, is_cloud
from gres_config.check.rules_types import has_mig_types
from gres_config.parse.cores import expand_cores
from gres_config.parse.gres_conf import GresLine
from gres_config.parse.topology import fold_numbers
from gres_config.parse.views import NodeView

RULES = RuleBook()
MAX_LINK = 65535


@RULES.add(
    "autodetect-conflict",
    Effect.DIES,
    "slurmd ends with “duplicate node-local AutoDetect specification does not match the first”.",
)
def find_autodetect_conflict(config: ClusterConfig) -> Iterator[Finding]:
    for view in config.views.nodes:
        for line in view.detections[1:]:
            if line.body.autodetect.lower() != view.autodetect:
                first = view.detections[0]
                what = (
                    f"AutoDetect={line.body.autodetect}, but line {first.source.line} has another"
                )
                mend = rewrite(line, {"AutoDetect": first.body.autodetect})
                yield make_finding(view, line, what, mend)


@RULES.add(
    "autodetect-unknown",
    Effect.IGNORED,
    "slurmd logs “unknown autodetect flag” and detects nothing.",
    severity=Severity.ERROR,
)
def find_autodetect_unknown(config: ClusterConfig) -> Iterator[Finding]:
    known = config.version.autodetect
    choices = ", ".join(sorted(known))
    setting = config.gres.autodetect
    if setting and not _is_known(setting.value, known):
        what = f"Slurm {config.version.name} knows no AutoDetect={setting.value}, only {choices}"
        yield Finding(setting.source, what, render_pair("AutoDetect", "off"))
    for view in config.views.nodes:
        for line in view.detections:
            if not _is_known(line.body.autodetect, known):
                value = line.body.autodetect
                what = f"Slurm {config.version.name} knows no AutoDetect={value}, only {choices}"
                yield make_finding(view, line, what, rewrite(line, {"AutoDetect": "off"}))


def _is_known(value: str, known: frozenset[str]) -> bool:
    # Slurm looks for the word anywhere in the value.
    return value.lower() == "off" or any(word in value.lower() for word in known)


@RULES.add(
    "autodetect-without-node",
    Effect.IGNORED,
    "slurmd logs “In-line AutoDetect requires NodeName to take effect”.",
    severity=Severity.ERROR,
)
def find_autodetect_without_node(config: ClusterConfig) -> Iterator[Finding]:
    for line in config.gres.lines:
        value = line.body.autodetect
        if line.hosts is None and value:
            what = f"AutoDetect={value} stands in a line that begins with Name="
            yield Finding(line.source, what, rewrite(line, {"AutoDetect": None}))


@RULES.add(
    "autodetect-nvidia-with-mig",
    Effect.IGNORED,
    "AutoDetect=nvidia does not know MIG (gres.conf(5)): the instances are not found.",
    severity=Severity.ERROR,
    since="24.11",
)
def find_autodetect_nvidia_with_mig(config: ClusterConfig) -> Iterator[Finding]:
    for view in config.views.nodes:
        if view.autodetect != "nvidia" or not has_mig_types(view):
            continue
        what = "AutoDetect=nvidia on a node with MIG instances"
        if view.detections:
            line = view.detections[0]
            yield make_finding(view, line, what, rewrite(line, {"AutoDetect": "nvml"}))
        elif config.gres.autodetect:
            source = config.gres.autodetect.source
            yield Finding(source, what, render_pair("AutoDetect", "nvml"), view.hostlist)


def _find_cloud(config: ClusterConfig) -> Iterator[Finding]:
    for view in config.views.nodes:
        if not is_cloud(view) or not view.is_detecting or not view.gres:
            continue
        what = f"AutoDetect={view.autodetect} holds for nodes of State=CLOUD"
        if view.detections:
            line = view.detections[0]
            yield make_finding(view, line, what, rewrite(line, {"AutoDetect": "off"}))
        elif config.gres.autodetect:
            setting = config.gres.autodetect
            off = f"NodeName={view.hostlist} AutoDetect=off"
            mend = f"{render_pair(setting.key, setting.value)}\n{off}"
            yield Finding(setting.source, what, mend, view.hostlist)


@RULES.add(
    "cloud-with-autodetect",
    Effect.DIES,
    "slurmctld reads gres.conf for cloud nodes: “Cannot use AutoDetect on cloud node”.",
    until="23.11",
)
def find_cloud_with_autodetect(config: ClusterConfig) -> Iterator[Finding]:
    yield from _find_cloud(config)


@RULES.add(
    "cloud-autodetect-ignored",
    Effect.IGNORED,
    "slurmctld logs “Cannot use AutoDetect on cloud/dynamic node”, and the node's GPUs are not "
    "set up.",
    severity=Severity.ERROR,
    since="23.11",
)
def find_cloud_autodetect_ignored(config: ClusterConfig) -> Iterator[Finding]:
    yield from _find_cloud(config)


@RULES.add(
    "cloud-without-lines",
    Effect.IGNORED,
    "slurmctld takes the devices of a cloud node from its own gres.conf: without NodeName lines "
    "there, jobs wait for GPUs that it doesn't know.",
)
def find_cloud_without_lines(config: ClusterConfig) -> Iterator[Finding]:
    for view in config.views.nodes:
        gpus = count_configured(view, "gpu")
        if is_cloud(view) and gpus and not view.list_lines("gpu") and not view.is_detecting:
            yield make_node_finding(view, "gres.conf has no line for these nodes of State=CLOUD")


_LOGICAL = "Cores= are Slurm's logical numbers, not those of the kernel or of nvidia-smi."


@RULES.add(
    "cores-beyond-node",
    Effect.DRAINS,
    f"slurmd logs “Invalid GRES data”. {_LOGICAL}",
    since="24.11",
)
def find_cores_beyond_node(config: ClusterConfig) -> Iterator[Finding]:
    yield from _find_cores_beyond(config)


@RULES.add(
    "cores-beyond-node-ignored",
    Effect.IGNORED,
    f"slurmd logs “Invalid GRES data”, and the devices are bound to no cores. {_LOGICAL}",
    severity=Severity.ERROR,
    until="24.11",
)
def find_cores_beyond_node_ignored(config: ClusterConfig) -> Iterator[Finding]:
    yield from _find_cores_beyond(config)


def _find_cores_beyond(config: ClusterConfig) -> Iterator[Finding]:
    for view, line, numbers in _each_cores(config):
        cores = view.topology.cores
        if numbers is None:
            what = f"{line.body.cores!r} is no list of cores"
            yield make_finding(view, line, what, rewrite(line, {"Cores": None, "CPUs": None}))
        elif max(numbers) >= cores:
            key = "CPUs" if line.body.uses_cpus_key else "Cores"
            what = f"{key}={line.body.cores}, but the node has cores 0-{cores - 1}"
            # The kernel numbers second threads after all cores.
            right = fold_numbers(number % cores for number in numbers)
            yield make_finding(view, line, what, rewrite(line, {"CPUs": None, "Cores": right}))


@RULES.add(
    "cores-cut-socket",
    Effect.DRAINS,
    "slurmctld says “GRES core specification doesn't match socket boundaries”; from 25.11 on "
    "the cores must be those of one socket, or all.",
    since="24.11",
)
def find_cores_cut_socket(config: ClusterConfig) -> Iterator[Finding]:
    is_strict = not config.is_before("25.11")
    for view, line, numbers in _each_cores(config):
        topology = view.topology
        size, cores = topology.cores_per_socket, topology.cores
        if not numbers or max(numbers) >= cores or len(numbers) == cores:
            continue
        sockets = sorted({number // size for number in numbers})
        whole = {number for socket in sockets for number in _list_cores(socket, size)}
        if whole == numbers and not (is_strict and len(sockets) > 1):
            continue
        if is_strict and len(sockets) > 1:
            whole = set(range(cores))
        what = f"Cores={line.body.cores} on sockets of {size} cores"
        mend = rewrite(line, {"CPUs": None, "Cores": fold_numbers(whole)})
        yield make_finding(view, line, what, mend)


def _list_cores(socket: int, size: int) -> range:
    return range(socket * size, (socket + 1) * size)


def _each_cores(
    config: ClusterConfig,
) -> Iterator[tuple[NodeView, GresLine, frozenset[int] | None]]:
    for view in config.views.nodes:
        for line in view.lines:
            if line.body.cores and line.body.name.lower() not in ("shard", "mps"):
                yield view, line, expand_cores(line.body.cores)


@RULES.add(
    "cores-on-some-records",
    Effect.MISLEADS,
    "slurmctld logs “has CPUs configured for only some of the records” and takes all cores for "
    "the others.",
)
def find_cores_on_some_records(config: ClusterConfig) -> Iterator[Finding]:
    for view in config.views.nodes:
        lines = view.list_lines("gpu")
        without = [line for line in lines if not line.body.cores]
        if without and len(without) < len(lines):
            cores = view.topology.cores
            mend = rewrite(without[0], {"Cores": fold_numbers(range(cores))})
            yield make_finding(view, without[0], "this line has no Cores, others have", mend)


@RULES.add(
    "links-unreadable",
    Effect.IGNORED,
    "slurmd logs “Ignoring invalid Links”.",
)
def find_links_unreadable(config: ClusterConfig) -> Iterator[Finding]:
    for view, line in _each_links(config):
        words = line.body.links.split(",")
        is_number = all(word.lstrip("-").isdigit() and int(word) <= MAX_LINK for word in words)
        if not is_number or words.count("-1") != 1 or min(map(int, words)) < -2:
            what = f"Links={line.body.links} is no list of numbers with one -1"
            yield make_finding(view, line, what, rewrite(line, {"Links": None, "Link": None}))


@RULES.add(
    "links-on-several-files",
    Effect.MISLEADS,
    "all files of the line get the place of one GPU: Links belongs to a line of one file.",
)
def find_links_on_several_files(config: ClusterConfig) -> Iterator[Finding]:
    for view, line in _each_links(config):
        if len(line.body.files) > 1 and not line.body.multiple_files:
            what = f"Links on a line of {len(line.body.files)} files"
            yield make_finding(view, line, what, rewrite(line, {"Links": None, "Link": None}))


@RULES.add(
    "links-too-long",
    Effect.DRAINS,
    "the node turns INVAL: “Invalid GRES Links value”.",
)
def find_links_too_long(config: ClusterConfig) -> Iterator[Finding]:
    for view, line in _each_links(config):
        count = sum(count_configured(view, "gpu").values())
        words = line.body.links.split(",")
        if count and len(words) > count:
            what = f"Links has {len(words)} entries, Gres= counts {count} GPUs"
            kept = words[:count]
            right = ",".join(kept) if "-1" in kept else None
            mend = rewrite(line, {"Link": None, "Links": right})
            yield make_finding(view, line, what, mend)


def _each_links(config: ClusterConfig) -> Iterator[tuple[NodeView, GresLine]]:
    for view in config.views.nodes:
        for line in view.list_lines("gpu"):
            if line.body.links:
                yield view, line
