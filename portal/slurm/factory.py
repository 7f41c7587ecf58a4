"""Opens the gateway that a cluster's settings name; the only importer of the backends."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from portal.slurm.backends.cli import CliGateway
from portal.slurm.backends.fake import FakeGateway
from portal.slurm.errors import SlurmValueError
from portal.slurm.gateway import SlurmGateway

BackendName = Literal["cli", "fake"]
__all__ = [
    "BackendName",
    "FakeGateway",
    "GatewaySettings",
    "forget_fakes",
    "get_fake",
    "open_gateway",
]

_fakes: dict[str, FakeGateway] = {}


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """Which Slurm to speak to and how; `slurm_conf` is required by "cli"."""

    backend: BackendName
    cluster_name: str
    slurm_conf: Path | None = None
    bin_dir: Path | None = None
    timeout_seconds: float = 30


def open_gateway(settings: GatewaySettings) -> SlurmGateway:
    """Return a gateway; nothing is asked of Slurm before its first method is called.

    Two "fake" gateways of one cluster name are one object, so that a test and the code that it
    tests meet. Raises SlurmValueError on a backend that is unknown or lacks its slurm.conf.
    """
    if settings.backend == "fake":
        return get_fake(settings.cluster_name)
    if settings.backend != "cli":
        raise SlurmValueError(f"there is no gateway backend {settings.backend!r}")
    if settings.slurm_conf is None:
        raise SlurmValueError(f"cluster {settings.cluster_name} names no slurm.conf")
    return CliGateway(
        settings.cluster_name, settings.slurm_conf, settings.bin_dir, settings.timeout_seconds
    )


def get_fake(cluster_name: str) -> FakeGateway:
    """Return this process's fake Slurm of that name, made on first use."""
    if cluster_name not in _fakes:
        _fakes[cluster_name] = FakeGateway(cluster_name)
    return _fakes[cluster_name]


def forget_fakes() -> None:
    """Drop all fake Slurms, so that the next test starts with an empty one."""
    _fakes.clear()
