"""What is written from a random inventory, read back, says what the inventory says."""

from collections import Counter

from hypothesis import given, settings

from gres_config.hostlist import expand_hostlist
from gres_config.inventory import Detection, Inventory, NodeGroup
from gres_config.parse.gres_conf import parse_gres_conf
from gres_config.parse.lines import split_lines
from gres_config.parse.slurm_conf import parse_slurm_conf
from gres_config.parse.views import NodeView, build_views
from gres_config.render import SLURM_FRAGMENTS, render_files
from tests.unit.gres_config.inventories import inventories

PATIENT = settings(max_examples=60)


def read_back(inventory: Inventory):
    files = render_files(inventory)
    slurm_text = "".join(files[name] for name in SLURM_FRAGMENTS)
    slurm = parse_slurm_conf(split_lines(slurm_text, "slurm.conf"), "slurm.conf")
    gres = parse_gres_conf(split_lines(files["gres.conf"], "gres.conf"), "gres.conf")
    assert not slurm.faults
    assert not gres.faults
    return slurm, build_views(slurm, gres)


def count_devices(view: NodeView) -> Counter[tuple[str, str]]:
    """Count what gres.conf gives a node, by name and type, as slurmd does."""
    found: Counter[tuple[str, str]] = Counter()
    for line in view.lines:
        body = line.body
        devices = 1 if body.multiple_files else len(body.files)
        found[body.name, body.type] += int(body.count or devices)
    return found


@PATIENT
@given(inventories())
def test_every_node_has_the_gres_of_the_inventory_and_as_many_files(inventory: Inventory) -> None:
    _slurm, views = read_back(inventory)
    group_of = {name: group for group in inventory.node_groups for name in group.nodes}
    assert {name for view in views.nodes for name in view.nodes} == set(group_of)
    assert not views.strangers
    assert not views.doubles
    assert not views.unreadable
    for view in views.nodes:
        for name in view.nodes:
            check_view(view, group_of[name])


def check_view(view: NodeView, group: NodeGroup) -> None:
    configured = {(entry.name, entry.type): entry.count for entry in view.gres}
    assert configured == dict(group.count_gres())
    is_detected = group.detection is not Detection.FILES and bool(group.gpus)
    assert view.is_detecting is is_detected
    expected = {
        key: count for key, count in configured.items() if not (is_detected and key[0] == "gpu")
    }
    assert count_devices(view) == expected


@PATIENT
@given(inventories())
def test_every_node_has_the_hardware_of_the_inventory(inventory: Inventory) -> None:
    slurm, _views = read_back(inventory)
    for record, group in zip(slurm.nodes, inventory.node_groups, strict=True):
        assert expand_hostlist(record.name) == group.nodes
        assert record.get("realmemory") == str(group.memory_mib)
        assert record.get("cpus") == str(group.cpus)


@PATIENT
@given(inventories())
def test_every_type_is_accounted_and_every_name_declared(inventory: Inventory) -> None:
    slurm, _views = read_back(inventory)
    gres = {key for group in inventory.node_groups for key in group.count_gres()}
    if not gres:
        assert "grestypes" not in slurm.settings
        return
    assert set(slurm.settings["grestypes"].value.split(",")) == {name for name, _type in gres}
    accounted = set(slurm.settings["accountingstoragetres"].value.split(","))
    assert accounted == {
        word
        for name, kind in gres
        for word in (f"gres/{name}", f"gres/{name}:{kind}" if kind else f"gres/{name}")
    }


@PATIENT
@given(inventories())
def test_a_partition_has_the_nodes_and_limits_of_the_inventory(inventory: Inventory) -> None:
    slurm, _views = read_back(inventory)
    (record,) = slurm.partitions
    (partition,) = inventory.partitions
    nodes = record.get("nodes")
    names = inventory.node_names if nodes == "ALL" else expand_hostlist(nodes)
    assert names == inventory.list_partition_nodes(partition)
    assert record.get("prioritytier") == str(partition.priority_tier)
    assert record.get("default").upper() == "YES"


@PATIENT
@given(inventories())
def test_the_same_inventory_gives_the_same_bytes(inventory: Inventory) -> None:
    assert list(render_files(inventory).items()) == list(render_files(inventory).items())
