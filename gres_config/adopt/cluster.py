"""Makes the whole inventory, and proves it: what it renders to is read back and compared."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gres_config.adopt.models import Models
from gres_config.adopt.nodes import adopt_group
from gres_config.adopt.notes import Kind, Note, Notes
from gres_config.adopt.partitions import adopt_partition
from gres_config.check.config import ClusterConfig
from gres_config.check.from_inventory import make_rendered_config
from gres_config.errors import GresConfigError
from gres_config.inventory import Inventory, list_gres_names
from gres_config.meaning import ALL_KEYS, Meaning, read_addresses, read_meaning
from gres_config.parse.views import build_views
from gres_config.render import render_accounting_tres

_WRITTEN = frozenset({"grestypes", "accountingstoragetres", "defmempercpu", "defmempergpu"})


@dataclass(frozen=True, slots=True)
class Adoption:
    """An inventory, and what there is to say of it.

    `differences` are what Slurm would be told otherwise than by the files; empty: nothing.
    """

    inventory: Inventory
    notes: tuple[Note, ...]
    differences: tuple[str, ...]


def adopt_cluster(config: ClusterConfig, given_models: Mapping[str, str] | None = None) -> Adoption:
    """Return the inventory of a configuration; `given_models` is {type: model}.

    Raises GresConfigError where no inventory can be made at all.
    """
    notes = Notes()
    slurm = config.slurm
    views = build_views(slurm, config.gres, keys=ALL_KEYS)
    hints = tuple(entry.type for view in views.nodes for entry in view.gres)
    models = Models(dict(given_models or {}), notes, (config.gres.file, *hints))
    addresses = read_addresses(slurm.nodes)
    groups = tuple(adopt_group(view, addresses, models, notes) for view in views.nodes)
    if not groups:
        raise GresConfigError("there is no NodeName line", file_name=slurm.file)
    partitions = tuple(adopt_partition(record, slurm, notes) for record in slurm.partitions)
    derived = {word.lower() for word in render_accounting_tres(groups).split(",")}
    further = [word for word in slurm.get("accountingstoragetres").split(",") if word.strip()]
    inventory = Inventory(
        cluster_name=slurm.get("clustername").lower() or "cluster",
        slurm_version=config.version.name,
        node_groups=groups,
        partitions=partitions,
        memory_per_cpu_mib=_read_number(config, "defmempercpu"),
        memory_per_gpu_mib=_read_number(config, "defmempergpu"),
        accounting_tres=tuple(word for word in further if word.lower() not in derived),
        other_models=tuple(models.others),
    )
    _note_rest(config, inventory, notes)
    before = read_meaning(slurm, config.gres)
    rendered = make_rendered_config(inventory)
    after = read_meaning(rendered.slurm, rendered.gres)
    return Adoption(inventory, tuple(notes.notes), tuple(compare_meanings(before, after)))


def _read_number(config: ClusterConfig, key: str) -> int | None:
    text = config.slurm.get(key)
    return int(text) if text.isdigit() and int(text) else None


def _note_rest(config: ClusterConfig, inventory: Inventory, notes: Notes) -> None:
    slurm = config.slurm
    kept = sorted(setting.key for key, setting in slurm.settings.items() if key not in _WRITTEN)
    if kept:
        notes.add(Kind.STAYS, slurm.file, ", ".join(kept))
    for record in slurm.others:
        notes.add(Kind.STAYS, record.source, f"{record.kind}={record.name}")
    unused = set(filter(None, slurm.get("grestypes").split(",")))
    unused -= set(list_gres_names(inventory.node_groups))
    for name in sorted(unused):
        notes.add(Kind.CHANGED, slurm.settings["grestypes"].source, f"no node has GRES {name}")
    if slurm.settings.get("accountingstoragetres") is None:
        text = "AccountingStorageTRES is written as well, so that limits on types hold"
        notes.add(Kind.CHANGED, slurm.file, text)
    for line, names in config.views.strangers:
        notes.add(Kind.CHANGED, line.source, f"there is no node {', '.join(names[:3])}")


def compare_meanings(before: Meaning, after: Meaning) -> Iterator[str]:
    """Yield what nodes, partitions and GRES are told otherwise; settings that stay are not asked.

    A GRES name or TRES that is new with `after`, or that no node has, makes no difference.
    """
    yield from _compare_nodes(before, after)
    for name, words in before.partitions.items():
        others = after.partitions.get(name, {})
        for key in sorted(words.keys() | others.keys()):
            if words.get(key) != others.get(key):
                yield f"partition {name}: {key}: {words.get(key)} becomes {others.get(key)}"
    for tres in sorted(before.accounting_tres - after.accounting_tres):
        yield f"AccountingStorageTRES loses {tres}"
    for key in ("defmempercpu", "defmempergpu"):
        if before.settings.get(key, "0") != after.settings.get(key, "0"):
            yield f"{key} differs"


def _compare_nodes(before: Meaning, after: Meaning) -> Iterator[str]:
    for name in before.nodes.keys() - after.nodes.keys():
        yield f"node {name} is gone"
    for name, node in before.nodes.items():
        other = after.nodes.get(name)
        if other is None or node == other:
            continue
        for part in node.__slots__:
            if getattr(node, part) != getattr(other, part):
                yield f"node {name}: {part}: {getattr(node, part)} becomes {getattr(other, part)}"
