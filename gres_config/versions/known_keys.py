"""Which keys of slurm.conf, NodeName and PartitionName each release knows.

A release ends at a key that it doesn't know (“Parsing error at unrecognized key”). New are:

- 23.02: MaxBatchRequeue, PreemptParameters, SuspendExcStates; MaxCPUsPerSocket and
  PowerDownOnIdle of a partition.
- 24.05: HashPlugin, TLSType; RestrictedCoresPerGPU of a node, ExclusiveTopo of a partition.
- 24.11: CertmgrType, DataParserParameters.
- 25.05: EpilogTimeout, PrologTimeout, CertgenType; Topology of a node and of a partition.
- 25.11: NamespaceType, MetricsType, CliFilterParameters; GresConf and Parameters of a node.
- 26.05: PowerAction, LicenseParameters, HealthCheckTimeout; SuspendTime of a node.

data/known_keys.json has them all, with its source.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

Span = tuple[str | None, str | None]


@cache
def load_known_keys(kind: str) -> Mapping[str, tuple[str, Span]]:
    """Return the keys of "slurm.conf", "NodeName" or "PartitionName" by key in lower case.

    Each has its spelling, and the release from which on and the one before which it is known.
    """
    path = resources.files("gres_config") / "data" / "known_keys.json"
    tables: dict[str, Any] = json.loads(path.read_text("utf-8"))[kind]
    spans: dict[str, Span] = dict.fromkeys(tables["always"], (None, None))
    spans.update((key, (since, until)) for key, (since, until) in tables["some"].items())
    return {key.lower(): (key, span) for key, span in spans.items()}
