"""Random legal inventories, for property tests of what is written, read back and started."""

from hypothesis import strategies as st

from gres_config.inventory import (
    Detection,
    GenericGres,
    GpuMode,
    GpuSpec,
    Inventory,
    NodeGroup,
    Partition,
)
from gres_config.render import render_accounting_tres
from gres_config.versions import VERSIONS, SlurmVersion, get_version

LAYOUTS = (
    ("1g.10gb",) * 7,
    ("3g.40gb", "3g.40gb"),
    ("7g.80gb",),
    ("4g.40gb", "2g.20gb", "1g.10gb"),
    ("3g.40gb", "1g.10gb", "1g.10gb"),
)
MODEL = "A100-80GB"


@st.composite
def gpu_specs(draw: st.DrawFn, release: SlurmVersion, cores: int) -> tuple[GpuSpec, ...]:
    """Return the GPUs of a node: some of each mode that may stand side by side."""
    modes = [GpuMode.WHOLE, GpuMode.MIG, draw(st.sampled_from([GpuMode.SHARD, GpuMode.MPS]))]
    chosen = draw(st.lists(st.sampled_from(modes), max_size=4))
    if not release.has_shares_beside_mig:
        chosen = [mode for mode in chosen if mode in (GpuMode.WHOLE, GpuMode.MIG)]
    specs = []
    sharing = draw(st.sampled_from([(), ("one_sharing",), ("all_sharing",)]))
    with_cores = draw(st.booleans())
    for mode in chosen:
        is_mig = mode is GpuMode.MIG
        is_shared = mode in (GpuMode.SHARD, GpuMode.MPS)
        specs.append(
            GpuSpec(
                MODEL,
                draw(st.integers(1, 4)),
                "" if is_mig else draw(st.sampled_from(["a100", "a100_big"])),
                mode,
                draw(st.sampled_from(LAYOUTS)) if is_mig else (),
                shares=draw(st.sampled_from([1, 8, 100])) if is_shared else 0,
                cores=(f"0-{cores - 1}",) if with_cores else (),
                flags=sharing if is_shared and release.has_sharing_flags else (),
            )
        )
    return tuple(specs)


@st.composite
def node_groups(draw: st.DrawFn, release: SlurmVersion, number: int) -> NodeGroup:
    """Return a group whose nodes no other number has."""
    sockets, cores = draw(st.sampled_from([(1, 4), (2, 16), (2, 32)]))
    count = draw(st.integers(1, 30))
    plain = (
        GenericGres("fpga", 2, "u250", ("/dev/xfpga0", "/dev/xfpga1")),
        GenericGres("npu", draw(st.integers(1, 64))),
    )
    return NodeGroup(
        f"n{number}-[{draw(st.sampled_from(['1', '01', '098']))}-{count + 98}]",
        sockets,
        cores,
        draw(st.integers(1000, 2_000_000)),
        draw(st.sampled_from([1, 2])),
        draw(gpu_specs(release, sockets * cores)),
        draw(st.sampled_from([(), plain[:1], plain[1:], plain])),
        draw(st.sampled_from([(), ("ib",), ("ib", "a100")])),
        draw(st.sampled_from([Detection.FILES, Detection.FILES, Detection.NVML])),
        extra=draw(st.sampled_from([(), (("Weight", "7"),)])),
    )


@st.composite
def billing_weights(draw: st.DrawFn, groups: tuple[NodeGroup, ...]) -> tuple[tuple[str, str], ...]:
    """Return weights of what the groups have."""
    tres = render_accounting_tres(groups).split(",") if draw(st.booleans()) else []
    names = ["CPU", *draw(st.lists(st.sampled_from(tres), unique=True))] if any(tres) else []
    return tuple((name, "0.25") for name in names)


@st.composite
def inventories(draw: st.DrawFn, versions: tuple[str, ...] = tuple(VERSIONS)) -> Inventory:
    """Return an inventory that every release named can run."""
    version = draw(st.sampled_from(versions))
    release = get_version(version)
    groups = tuple(draw(node_groups(release, number)) for number in range(draw(st.integers(1, 3))))
    partition = Partition(
        "main",
        draw(st.sampled_from(["ALL", groups[0].hostlist])),
        draw(st.integers(0, 10)),
        draw(st.sampled_from([None, "OFF", "REQUEUE"])),
        is_default=True,
        max_time_minutes=draw(st.sampled_from([None, 60, 2880])),
        allow_accounts=draw(st.sampled_from([(), ("a", "b")])),
        memory_per_gpu_mib=draw(st.sampled_from([None, 60_000])),
        billing_weights=draw(billing_weights(groups)),
    )
    return Inventory("c1", version, groups, (partition,), memory_per_cpu_mib=1000)
