"""Opening gateways."""

from pathlib import Path

import pytest

from portal.slurm.errors import SlurmUnavailable, SlurmValueError
from portal.slurm.factory import (
    FakeGateway,
    GatewaySettings,
    forget_fakes,
    get_fake,
    open_gateway,
)


def test_one_cluster_name_is_one_fake_until_they_are_forgotten() -> None:
    first = open_gateway(GatewaySettings("fake", "c1"))
    assert first is get_fake("c1")
    assert first is not get_fake("c2")
    forget_fakes()
    assert first is not get_fake("c1")


def test_refuses_an_unknown_backend_and_a_missing_slurm_conf() -> None:
    with pytest.raises(SlurmValueError):
        open_gateway(GatewaySettings("rest", "c1"))  # type: ignore[arg-type]
    with pytest.raises(SlurmValueError):
        open_gateway(GatewaySettings("cli", "c1"))


def test_asks_slurm_nothing_when_it_is_opened() -> None:
    gateway = open_gateway(GatewaySettings("cli", "c1", Path("/nowhere/slurm.conf")))
    with pytest.raises(SlurmUnavailable):
        gateway.list_qos()


def test_a_fake_that_is_away_raises_and_counts() -> None:
    fake = FakeGateway("c1")
    fake.is_away = True
    with pytest.raises(SlurmUnavailable):
        fake.list_jobs()
    assert fake.calls["list_jobs"] == 1
