"""Keys that the release does not know."""

from collections.abc import Iterator

from gres_config.check.config import ClusterConfig
from gres_config.check.finding import Effect, Finding, RuleBook
from gres_config.check.mending import render_pair, rewrite_node
from gres_config.problems import suggest
from gres_config.versions.known_keys import load_known_keys

RULES = RuleBook()


def _explain(config: ClusterConfig, kind: str, key: str) -> str:
    """Return why the release doesn't know the key, "" where it does."""
    known = load_known_keys(kind)
    name = config.version.name
    if key.lower() not in known:
        spellings = [spelling for spelling, _span in known.values()]
        return f"Slurm knows no {key}= here.{suggest(key, spellings)}"
    since, until = known[key.lower()][1]
    if since and config.is_before(since):
        return f"Slurm {name} knows no {key}= here yet; it came with {since}"
    if until and not config.is_before(until):
        return f"Slurm {name} no longer knows {key}=; {until} took it out"
    return ""


@RULES.add(
    "key-unknown",
    Effect.DIES,
    "the daemons end with “Parsing error at unrecognized key”.",
)
def find_key_unknown(config: ClusterConfig) -> Iterator[Finding]:
    for setting in config.slurm.settings.values():
        what = _explain(config, "slurm.conf", setting.key)
        if what:
            line = render_pair(setting.key, setting.value)
            yield Finding(setting.source, what, f"# {line}")


@RULES.add(
    "node-key-unknown",
    Effect.DIES,
    "the daemons end with “Parsing error at unrecognized key”.",
)
def find_node_key_unknown(config: ClusterConfig) -> Iterator[Finding]:
    yield from _find_in_records(config, "NodeName")


@RULES.add(
    "partition-key-unknown",
    Effect.DIES,
    "the daemons end with “Parsing error at unrecognized key”.",
)
def find_partition_key_unknown(config: ClusterConfig) -> Iterator[Finding]:
    yield from _find_in_records(config, "PartitionName")


def _find_in_records(config: ClusterConfig, kind: str) -> Iterator[Finding]:
    records = config.slurm.nodes if kind == "NodeName" else config.slurm.partitions
    explained: dict[str, str] = {}
    for record in records:
        for key, _value in record.own[1:]:
            if key not in explained:
                explained[key] = _explain(config, kind, key)
            if explained[key]:
                mend = rewrite_node(record, {key: None})
                yield Finding(record.source, explained[key], mend)
