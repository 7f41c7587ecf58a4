"""The inventory file: what it becomes, and that every error has its line and a way out."""

import time
from pathlib import Path

import pytest

from gres_config.errors import DocumentError, GresConfigError
from gres_config.inventory import Detection, GpuMode
from gres_config.load import load_inventory, parse_inventory

GOOD = """\
cluster: c1
slurm_version: 24.11
node_groups:
  - nodes: gpu[01-02]
    sockets: 2
    cores_per_socket: 16
    threads_per_core: 2
    memory_mib: 512000
    features: [a100, ib]
    gpus:
      - {model: A100-80GB, count: 4, type: a100, cores: [0-15, 0-15, 16-31, 16-31]}
      - {model: A100-80GB, count: 2, mode: mig, layout: [3g.40gb, "1g.10gb*4"]}
      - {model: A100-80GB, count: 1, type: a100, mode: shard, shares: 8, flags: one_sharing}
      - {model: A100-80GB, count: 1, type: a100, mode: mps, shares: 100}
    gres:
      - {name: fpga, type: u250, count: 2, files: "/dev/xfpga[0-1]"}
      - {name: npu, count: 64}
    slurm: {Weight: 10}
  - nodes: amd1
    cores_per_socket: 64
    memory_mib: 256000
    detection: rsmi
    gpus:
      - {model: MI250X, count: 8, type: mi250x}
partitions:
  - name: gpu
    nodes: gpu[01-02]
    default: true
    tier: 10
    memory_per_gpu_mib: 60000
    cpus_per_gpu: 8
    allow_accounts: [a, b]
    billing_weights: {CPU: 0.25, "GRES/gpu:a100": 8}
    slurm: {OverSubscribe: "NO"}
  - {name: all, nodes: ALL, preempt_mode: requeue}
"""


def refuse(before: str, after: str, text: str = GOOD) -> list[str]:
    assert before in text
    with pytest.raises(DocumentError) as caught:
        parse_inventory(text.replace(before, after), "nodes.yaml")
    return str(caught.value).splitlines()


def test_reads_every_kind_of_device() -> None:
    inventory, _document = parse_inventory(GOOD, "nodes.yaml")
    first, second = inventory.node_groups
    assert first.nodes == ("gpu01", "gpu02")
    assert first.cpus == 64
    assert first.gpus[1].mode is GpuMode.MIG
    assert dict(first.count_gres()) == {
        ("gpu", "a100"): 6,
        ("gpu", "3g.40gb"): 2,
        ("gpu", "1g.10gb"): 8,
        ("shard", ""): 8,
        ("mps", ""): 100,
        ("fpga", "u250"): 2,
        ("npu", ""): 64,
    }
    assert first.extra == (("Weight", "10"),)
    assert second.detection is Detection.RSMI


def test_keeps_a_weight_as_it_is_written() -> None:
    inventory, _document = parse_inventory(GOOD, "nodes.yaml")
    assert inventory.partitions[0].billing_weights == (("CPU", "0.25"), ("GRES/gpu:a100", "8"))


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("sockets: 2", "socket: 2", "nodes.yaml:5: node_groups[0].socket: There is no such key. "),
        ("sockets: 2", "socket: 2", "Did you mean “sockets”?"),
        (
            "count: 4,",
            "cnt: 4,",
            "nodes.yaml:11: node_groups[0].gpus[0].count: This key is missing",
        ),
        (
            "slurm_version: 24.11",
            "slurm_version: 21.08",
            "nodes.yaml:2: slurm_version: No Slurm re",
        ),
        ("A100-80GB, count: 4", "A100-80G, count: 4", "There is no GPU model “A100-80G”. Did you"),
        ("A100-80GB, count: 4", "Foo, count: 4", "other_models"),
        (
            '"1g.10gb*4"',
            '"1g.10gb*5"',
            "nodes.yaml:12: node_groups[0].gpus[1].layout: This does not",
        ),
        ('"1g.10gb*4"', '"1g.5gb*4"', "no MIG profile '1g.5gb'"),
        (
            '"1g.10gb*4"',
            '"1g.10gb*99999"',
            "nodes.yaml:12: node_groups[0].gpus[1].layout: '1g.10gb*9",
        ),
        (
            "MI250X, count: 8, type: mi250x",
            "MI250X, count: 8, mode: mig, layout: 1g.10gb",
            "cannot be s",
        ),
        (
            "type: a100, cores",
            "type: 80gb, cores",
            "nodes.yaml:11: node_groups[0].gpus[0].type: Slurm reads",
        ),
        ("type: u250", "type: 8", "nodes.yaml:16: node_groups[0].gres[0].type: Slurm reads"),
        ("type: u250", "type: u-250", "may hold only letters"),
        (
            "xfpga[0-1]",
            "xfpga[0-2]",
            "nodes.yaml:16: node_groups[0].gres[0].files: These are 3 files",
        ),
        ("xfpga[0-1]", "xfpga[0-", "nodes.yaml:16: node_groups[0].gres[0].files: The hostlist"),
        (
            "nodes: amd1",
            "nodes: gpu02",
            "nodes.yaml:19: node_groups[1].nodes: gpu02 stands already in",
        ),
        ("nodes: amd1", "nodes: amd[1,1]", "amd1 stands already in this group."),
        ("nodes: amd1", "nodes: amd[1-", "nodes.yaml:19: node_groups[1].nodes: The hostlist"),
        (
            "    nodes: gpu[01-02]\n    default",
            "    nodes: gpu[01-03]\n    default",
            "No node group has gpu03.",
        ),
        ("detection: rsmi", "detection: nvml", "AutoDetect=nvml does not find a MI250X."),
        ("detection: rsmi", "detection: full", "Slurm 24.11 has no AutoDetect=full"),
        ("detection: rsmi", "detection: nvm", "Did you mean “nvml”?"),
        ("    detection: rsmi\n", "", "Name the files of the MI250X, or have them detected."),
        (
            "detection: rsmi",
            "detection: rsmi\n    state: CLOUD",
            "AutoDetect cannot be used with cloud",
        ),
        ("cores: [0-15,", "cores: [0-32,", "The node has the cores 0-31, not 32."),
        ("cores: [0-15, 0-15, 16-31, 16-31]", "cores: [0-15, 0-15]", "one for each of the 4"),
        (
            "shares: 8",
            "shares: 0",
            "nodes.yaml:13: node_groups[0].gpus[2].shares: This must be at least 1",
        ),
        (", shares: 8", "", "Mode shard needs shares"),
        ("mode: shard, shares", "shares", "shares belongs to the modes shard and mps."),
        ("name: npu", "name: fpga", "On one node either every fpga has a type or none has."),
        (
            "name: npu, count: 64",
            "name: fpga, type: x, count: 64",
            "every fpga of the cluster has files",
        ),
        ("name: npu", "name: shard", "cannot be the name of a plain GRES"),
        ("slurm: {Weight: 10}", "slurm: {RealMemory: 10}", "This is written from “memory_mib”"),
        ("slurm: {Weight: 10}", "slurm: {Wei ght: 10}", "Use one of Slurm's keys"),
        ("slurm: {Weight: 10}", "restricted_cores_per_gpu: 70000", "This must be at most 65535"),
        ("name: all", "name: gpu", "“gpu” stands already at partitions[0]."),
        ("nodes: ALL", "nodes: ALL, default: yes", "partitions[0] is the default already."),
        ("preempt_mode: requeue", "preempt_mode: often", "Use one of CANCEL"),
        ("cpus_per_gpu: 8", "memory_per_cpu_mib: 9", "exclude each other"),
        ("slurm_version: 24.11", "slurm_version: 22.05", "needs Slurm 23.02.7"),
        (
            "memory_mib: 512000",
            "memory_mib: 1e9",
            "nodes.yaml:8: node_groups[0].memory_mib: A whole num",
        ),
        ("memory_mib: 512000", "memory_mib: 99999999999999999999", "This must be at most"),
        (
            "memory_mib: 512000",
            "memory_mib: 1\n    memory_mib: 2",
            "This key stands twice: first in line 8",
        ),
        ("layout: [3g.40gb", "layout: [3g.40gb, [x]", "A text is wanted here."),
        (
            "nodes: amd1",
            "nodes: [amd1]",
            "nodes.yaml:19: node_groups[1].nodes: A text is wanted here.",
        ),
        (
            '"GRES/gpu:a100": 8',
            '"GRES/gpu:h100": 8',
            "nodes.yaml:33: partitions[0].billing_weights.GRES/gpu:h100: Nothing here is accounted",
        ),
        (
            "type: a100, cores",
            "flags: one_sharing, type: a100, cores",
            "one_sharing belongs to the modes shard and mps.",
        ),
        ("CPU: 0.25", "GPU: 0.25", "Nothing here is accounted as GPU."),
        (
            "flags: one_sharing",
            "flags: [one_sharing, all_sharing]",
            "exclude each other on one node",
        ),
        ("0.25,", "a lot,", "Use a number, such as 0.25 or 1.5G."),
        ("cluster: c1", "cluster: C 1", "nodes.yaml:1: cluster: Use lower-case letters"),
    ],
)
def test_refuses_it_with_file_line_and_reason(before: str, after: str, message: str) -> None:
    assert message in "\n".join(refuse(before, after))


def test_tells_all_errors_at_once_in_the_order_of_the_file() -> None:
    text = GOOD.replace("sockets: 2", "socket: 2").replace("tier: 10", "tier: x")
    lines = refuse("nodes: amd1", "nodes: amd[", text)
    assert [line.split(":")[1] for line in lines] == ["5", "19", "29"]


def test_tells_what_does_not_fit_together_beside_what_is_wrong_by_itself() -> None:
    text = GOOD.replace("sockets: 2", "socket: 2").replace("name: all", "name: gpu")
    lines = refuse("detection: rsmi", "detection: nvml", text)
    assert [line.split(":", 3)[1:3] for line in lines] == [
        ["5", " node_groups[0].socket"],
        ["22", " node_groups[1].detection"],
        ["35", " partitions[1].name"],
    ]


@pytest.mark.parametrize("text", ["", "[]", "a", "a: {", "cluster: &x c1\nslurm_version: *x", "\t"])
def test_refuses_what_is_no_inventory(text: str) -> None:
    with pytest.raises(DocumentError) as caught:
        parse_inventory(text, "nodes.yaml")
    assert str(caught.value).startswith("nodes.yaml:")


def test_a_nest_of_a_million_brackets_is_refused() -> None:
    with pytest.raises(DocumentError):
        parse_inventory("[" * 100_000, "nodes.yaml")


def test_refuses_a_file_that_is_not_utf_8_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "nodes.yaml"
    path.write_bytes(b"cluster: c1\n# M\xfcnchen\n")
    with pytest.raises(DocumentError, match=r"nodes.yaml:2: This is not UTF-8") as caught:
        load_inventory(path)
    assert caught.value.line == 2


def test_refuses_a_file_of_100_mb_without_reading_it(tmp_path: Path) -> None:
    path = tmp_path / "nodes.yaml"
    with path.open("wb") as file:
        file.truncate(100_000_000)
    begun = time.perf_counter()
    with pytest.raises(DocumentError, match="larger than 20 MB"):
        load_inventory(path)
    assert time.perf_counter() - begun < 1


@pytest.mark.parametrize("name", ["none.yaml", ""])
def test_refuses_a_file_that_cannot_be_read(tmp_path: Path, name: str) -> None:
    with pytest.raises(GresConfigError, match="The file cannot be read"):
        load_inventory(tmp_path / name)
