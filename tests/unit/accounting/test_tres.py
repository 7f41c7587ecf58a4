"""TRES lists are read exactly or refused, and GPUs are counted once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting.errors import TresError
from accounting.tres import gpu_units, parse_tres


@pytest.mark.parametrize(
    ("text", "mib"),
    [
        ("mem=16G", 16384),
        ("mem=16384M", 16384),
        ("mem=16384", 16384),
        ("mem=1.50T", 1572864),
        ("mem=2048K", 2),
        ("mem=0.5G", 512),
        ("mem=1P", 1024**3),
        ("mem=0", 0),
    ],
)
def test_reads_memory_in_mib(text: str, mib: int) -> None:
    assert parse_tres(text) == {"mem": mib}


@pytest.mark.parametrize(
    "text",
    [
        "mem=4Gn",
        "mem=4Gc",
        "mem=16?",
        "mem=15.62G",
        "mem=1K",
        "mem=-1",
        "mem=",
        "mem",
        "=1",
        "mem=1,,cpu=2",
        "mem=1,",
        "cpu=2,cpu=2",
        "gres/gpu=2,gres/gpu=3",
        "gres/gpu=2K",
        "gres/gpu=1.5",
        "gres/gpu=٢",
        "gres/gpu= 2",
        "gres/gpu=NONE",
        "gres/gpu=18446744073709551614",
        "gres/gpu=99999999999999999999999",
        "1=4,2=1024",
        "Partition_Limit",
        "UNLIMITED",
        "gres/=1",
        "cpu=1\n",
    ],
)
def test_refuses_what_it_cannot_read_exactly(text: str) -> None:
    with pytest.raises(TresError):
        parse_tres(text)


def test_reads_names_of_every_kind() -> None:
    text = "billing=32,energy=12,fs/disk=0,gres/gpu:a100_1g.10gb=3,gres/gpu=3,license/x@y=2,node=1"
    assert parse_tres(text) == {
        "billing": 32,
        "energy": 12,
        "fs/disk": 0,
        "gres/gpu:a100_1g.10gb": 3,
        "gres/gpu": 3,
        "license/x@y": 2,
        "node": 1,
    }
    assert parse_tres("") == {}


@pytest.mark.parametrize("value", ["18446744073709551614", "18446744073709551615", "NONE"])
def test_leaves_unset_energy_out(value: str) -> None:
    assert parse_tres(f"cpu=1,energy={value}") == {"cpu": 1}
    with pytest.raises(TresError):
        parse_tres(f"cpu=1,energy={value},energy={value}")


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("gres/gpu=4", {"gres/gpu": 4}),
        ("gres/gpu:a100=1,gres/gpu=3", {"gres/gpu": 2, "gres/gpu:a100": 1}),
        ("gres/gpu:a100=2,gres/gpu:v100=1,gres/gpu=3", {"gres/gpu:a100": 2, "gres/gpu:v100": 1}),
        ("gres/gpu:h100=4", {"gres/gpu:h100": 4}),
        ("gres/shard=4", {"gres/shard": 4}),
        ("gres/shard:a100=1,gres/shard=4", {"gres/shard": 3, "gres/shard:a100": 1}),
        ("gres/mps=50,gres/gpu=1", {"gres/gpu": 1, "gres/mps": 50}),
        ("cpu=8,gres/nic=1,gres/gpuutil=90,mem=1G", {}),
        ("gres/gpu:a100=0,gres/gpu=0", {}),
    ],
)
def test_says_what_to_bill(text: str, units: dict[str, int]) -> None:
    assert gpu_units(parse_tres(text)) == units


@pytest.mark.parametrize(
    "text", ["gres/gpu:a100=4,gres/gpu=3", "gres/gpu:a100=1,gres/gpu=0", "gres/gpu=4294967295"]
)
def test_refuses_counts_that_contradict_each_other(text: str) -> None:
    with pytest.raises(TresError):
        gpu_units(parse_tres(text))


@given(
    st.dictionaries(st.sampled_from(["a100", "h100", "1g.10gb"]), st.integers(0, 64)),
    st.integers(0, 64),
)
def test_the_units_add_up_to_the_total(typed: dict[str, int], rest: int) -> None:
    total = sum(typed.values()) + rest
    counts = {f"gres/gpu:{name}": count for name, count in typed.items()} | {"gres/gpu": total}
    text = ",".join(f"{name}={count}" for name, count in counts.items())
    assert sum(gpu_units(parse_tres(text)).values()) == total


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parse_tres(text)
    except TresError:
        return
