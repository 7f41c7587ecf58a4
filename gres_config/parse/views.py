"""Puts a slurm.conf and a gres.conf together: what each node is told, by kind of node.

Nodes whose lines say the same are one view, so that ten thousand equal nodes are looked at once.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from gres_config.errors import GresConfigError
from gres_config.hostlist import expand_hostlist, fold_hostlist
from gres_config.parse.counts import GresEntry, parse_gres
from gres_config.parse.gres_conf import GresConf, GresLine
from gres_config.parse.lines import Source
from gres_config.parse.slurm_conf import GRES_SHAPE, Record, SlurmConf
from gres_config.parse.topology import Topology, read_topology


@dataclass(frozen=True, slots=True)
class NodeView:
    """What nodes of one kind are told; `record` and `lines` are those of the first of them.

    `lines` are the lines of gres.conf with a Name, `detections` those with an AutoDetect of their
    own; `autodetect` is the value that holds, in lower case, "" for none.
    """

    nodes: tuple[str, ...]
    record: Record
    gres: tuple[GresEntry, ...]
    lines: tuple[GresLine, ...]
    detections: tuple[GresLine, ...]
    autodetect: str
    topology: Topology
    by_name: Mapping[str, tuple[GresLine, ...]]

    @property
    def hostlist(self) -> str:
        """The nodes as one hostlist."""
        return fold_hostlist(self.nodes)

    @property
    def is_detecting(self) -> bool:
        """Whether slurmd looks for devices by itself."""
        return self.autodetect not in ("", "off")

    def list_names(self) -> tuple[str, ...]:
        """Return every GRES name that either file gives the nodes, once, in lower case."""
        return tuple(dict.fromkeys((*(entry.name.lower() for entry in self.gres), *self.by_name)))

    def list_lines(self, name: str) -> tuple[GresLine, ...]:
        """Return the lines of gres.conf for this GRES name (in lower case)."""
        return self.by_name.get(name, ())


@dataclass(frozen=True, slots=True)
class Views:
    """All views, and what stands outside of them.

    `strangers` are lines of gres.conf with nodes that slurm.conf does not have, `doubles` nodes
    that two NodeName lines name, `unreadable` hostlists that Slurm refuses, each with its reason.
    """

    nodes: tuple[NodeView, ...]
    strangers: tuple[tuple[GresLine, tuple[str, ...]], ...]
    doubles: tuple[tuple[Record, str], ...]
    unreadable: tuple[tuple[Source, str, str], ...]


def build_views(
    slurm: SlurmConf,
    gres: GresConf,
    keys: frozenset[str] = GRES_SHAPE,
    alone: Collection[str] = (),
) -> Views:
    """Return the views of the two files.

    Nodes are one view when their words for `keys` are equal, and what gres.conf tells them; the
    nodes in `alone` have each a view of their own.
    """
    builder = _Builder(slurm, gres, keys, frozenset(alone))
    return Views(
        builder.make_views(),
        tuple(builder.find_strangers()),
        tuple(builder.doubles),
        tuple(builder.unreadable),
    )


@lru_cache(maxsize=65536)
def _expand(text: str) -> tuple[str, ...]:
    if text.isalnum():
        return (text,)
    return expand_hostlist(text)


class _Builder:
    def __init__(
        self, slurm: SlurmConf, gres: GresConf, keys: frozenset[str], alone: frozenset[str]
    ) -> None:
        self._keys = keys
        self._alone = alone
        self.slurm = slurm
        self.gres = gres
        self.doubles: list[tuple[Record, str]] = []
        self.unreadable: list[tuple[Source, str, str]] = []
        self._of_all = [index for index, line in enumerate(gres.lines) if line.hosts is None]
        self._of_node: dict[str, list[int]] = defaultdict(list)
        self._known: set[str] = set()
        for index, line in enumerate(gres.lines):
            if line.hosts is not None:
                for name in self._names(line.hosts, line.source):
                    self._of_node[name].append(index)

    def _names(self, text: str, source: Source) -> tuple[str, ...]:
        try:
            return _expand(text)
        except GresConfigError as error:
            self.unreadable.append((source, text, error.reason))
            return ()

    def make_views(self) -> tuple[NodeView, ...]:
        groups: dict[tuple[object, ...], tuple[Record, list[int], list[str]]] = {}
        bodies = [id(line.body) for line in self.gres.lines]
        for record in self.slurm.nodes:
            if record.name.upper() == "ALL":
                continue
            shape = record.list_shape(self._keys)
            for name in self._names(record.name, record.source):
                if name in self._known:
                    self.doubles.append((record, name))
                    continue
                self._known.add(name)
                own = self._of_node.get(name, [])
                key: tuple[object, ...] = (shape, *map(bodies.__getitem__, own))
                if name in self._alone:
                    key = (*key, name)
                found = groups.get(key)
                if found is None:
                    groups[key] = (record, own, [name])
                else:
                    found[2].append(name)
        return tuple(self._make_view(*group) for group in groups.values())

    def _make_view(self, record: Record, own: list[int], names: list[str]) -> NodeView:
        lines = [self.gres.lines[index] for index in sorted([*self._of_all, *own])]
        local = [line for line in lines if line.body.autodetect and line.hosts is not None]
        general = self.gres.autodetect.value if self.gres.autodetect else ""
        by_name: dict[str, list[GresLine]] = defaultdict(list)
        for line in lines:
            if line.body.name:
                by_name[line.body.name.lower()].append(line)
        return NodeView(
            tuple(names),
            record,
            parse_gres(record.get("gres")),
            tuple(line for line in lines if line.body.name),
            tuple(local),
            (local[0].body.autodetect if local else general).lower(),
            read_topology(record),
            {name: tuple(own_lines) for name, own_lines in by_name.items()},
        )

    def find_strangers(self) -> Iterable[tuple[GresLine, tuple[str, ...]]]:
        missing: dict[int, list[str]] = defaultdict(list)
        for name, indexes in self._of_node.items():
            if name not in self._known:
                for index in indexes:
                    missing[index].append(name)
        for index in sorted(missing):
            yield self.gres.lines[index], tuple(missing[index])
