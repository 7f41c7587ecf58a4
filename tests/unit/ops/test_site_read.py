"""The site file's checks: every error at once, with line, place, sentence and suggestion."""

from decimal import Decimal

import pytest

from portal.ops.site.problems import SiteFileError
from portal.ops.site.read import read_site_file, read_site_text

GOOD = """\
site: {name: Site, time_zone: Europe/Berlin, currency: EUR}
organisations:
  - {code: top, name: Top, slurm_account: o-top}
  - {code: low, name: Low, slurm_account: o-low, parent: top}
people:
  - {username: ann, unix_name: ann}
  - {username: bob, roles: [{role: approver, organisation: top}]}
projects:
  - code: p1
    title: One
    organisation: low
    members: [{user: ann, role: pi}]
clusters:
  - name: c1
    title: C
    pools:
      - {code: a100, title: A, gpu_model: A100, gres_type: a100, partition: gpu}
offerings:
  - {code: a100, title: A, cluster: c1, pool: a100, max_units: 8, max_unit_hours: 1000}
prices:
  - {offering: a100, purchase_option: on_demand, per_unit_hour: 1.20, from_date: 2026-01-01}
"""


def refuse(before, after, text=GOOD):
    assert before in text
    with pytest.raises(SiteFileError) as caught:
        read_site_text(text.replace(before, after), "site.yaml", {})
    return str(caught.value)


def test_reads_a_good_file_and_keeps_the_price_exact():
    description, _ = read_site_text(GOOD, "site.yaml", {})
    assert description.prices[0].per_unit_hour == Decimal("1.20")
    assert description.prices[0].per_unit_hour.as_tuple().exponent == -2


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            "currency:",
            "curency:",
            "site.yaml:1: site.curency: There is no such key. Did you mean “currency”?",
        ),
        (
            "title: One",
            "titel: One",
            "site.yaml:10: projects[0].titel: There is no such key. Did you mean “title”?",
        ),
        (
            "title: One",
            "description: x",
            "site.yaml:9: projects[0].title: This key is missing.",
        ),
        (
            "Europe/Berlin",
            "Europe/Berln",
            "site.yaml:1: site.time_zone: “Europe/Berln” is no time zone",
        ),
        (
            "role: approver",
            "role: aprover",
            "site.yaml:7: people[1].roles[0].role: Use one of approver, operator, "
            "finance. Did you mean “approver”?",
        ),
        (
            "organisation: low",
            "organisation: lov",
            "site.yaml:11: projects[0].organisation: The file has no organisation “lov”. "
            "Did you mean “low”?",
        ),
        (
            "user: ann",
            "user: anne",
            "site.yaml:12: projects[0].members[0].user: The file has no person “anne”. "
            "Did you mean “ann”?",
        ),
        (
            "pool: a100",
            "pool: a1oo",
            "site.yaml:19: offerings[0].pool: The file has no pool “a1oo”.",
        ),
        (
            "offering: a100",
            "offering: h100",
            "site.yaml:21: prices[0].offering: The file has no offering “h100”.",
        ),
        ("1.20", '"1,20"', "site.yaml:21: prices[0].per_unit_hour"),
        ("1.20", "1.2e3", "A price is written as plain digits"),
        ("1.20", "-1", "A price is written as plain digits"),
        ("1.20", "NaN", "A price is written as plain digits"),
        ("1.20", "0.1234567", "at most 6 after the point"),
        ("2026-01-01", "2026-13-01", "prices[0].from_date: Use a date"),
        (
            "on_demand",
            "spot",
            "prices[0].purchase_option: The pool a100 has no spot_partition.",
        ),
        ("max_units: 8", "max_units: 0", "offerings[0].max_units: This must be at least 1."),
        (
            "max_units: 8",
            "max_units: eight",
            "offerings[0].max_units: A whole number is wanted here.",
        ),
        (
            "max_units: 8",
            "max_units: 8, default_units: 9",
            "default_units is more than max_units.",
        ),
        ("parent: top", "parent: low", "would stand above itself"),
        (
            "slurm_account: o-low",
            "slurm_account: o-top",
            "organisations[1].slurm_account: “o-top” stands already at organisations[0].",
        ),
        ("code: p1", "code: P1", "projects[0].code: Use 1 to 39 characters"),
        ("code: p1", "code: o-low", "is the Slurm account of low"),
        ("unix_name: ann", "unix_name: Ann", "people[0].unix_name: Use a Unix login"),
        (
            "members: [{user: ann, role: pi}]",
            "members: ann",
            "projects[0].members: A list is wanted here",
        ),
    ],
)
def test_tells_what_is_wrong_where_and_how_to_mend_it(before, after, message):
    assert message in refuse(before, after)


def test_tells_all_errors_at_once_in_the_order_of_the_file():
    text = GOOD.replace("currency:", "curency:").replace("title: One", "titel: One")
    lines = refuse("1.20", "a lot", text).splitlines()
    assert [int(line.split(":")[1]) for line in lines] == [1, 1, 9, 10, 21]


def test_names_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(SiteFileError, match="cannot be read: No such file"):
        read_site_file(tmp_path / "none.yaml", {})


def test_names_the_line_of_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "latin.yaml"
    path.write_bytes(b"site:\n  name: M\xfcnchen\n")
    with pytest.raises(SiteFileError, match=r"latin.yaml:2: This is not UTF-8"):
        read_site_file(path, {})


WITH_INVENTORY = GOOD.replace(
    "{code: a100, title: A, gpu_model: A100, gres_type: a100, partition: gpu}",
    "{code: a100, title: A, gres_type: a100}",
).replace("title: C\n", "title: C\n    inventory: nodes.yaml\n")
NODES = """\
cluster: c1
slurm_version: 24.11
node_groups:
  - nodes: n[1-2]
    cores_per_socket: 16
    memory_mib: 64000
    gpus:
      - {model: A100-80GB, count: 2, type: a100}
      - {model: A100-80GB, count: 1, mode: mig, layout: "1g.10gb*7"}
partitions:
  - {name: gpu, nodes: ALL, default: true}
  - {name: low, nodes: ALL, preempt_mode: requeue}
"""


@pytest.fixture
def read_with_inventory(tmp_path):
    def read(before="", after=""):
        (tmp_path / "nodes.yaml").write_text(NODES)
        text = WITH_INVENTORY.replace(before, after) if before else WITH_INVENTORY
        return read_site_text(text, str(tmp_path / "site.yaml"), {})[0].clusters[0].pools

    return read


def test_a_pool_takes_model_and_partitions_from_the_inventory(read_with_inventory):
    (pool,) = read_with_inventory()
    assert (pool.gpu_model, pool.is_mig) == ("NVIDIA A100-SXM4-80GB", False)
    assert (pool.partition, pool.spot_partition) == ("gpu", "low")


def test_a_mig_pool_is_known_by_its_type(read_with_inventory):
    (pool,) = read_with_inventory("gres_type: a100", "gres_type: 1g.10gb")
    assert pool.is_mig


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("gres_type: a100", "gres_type: a10", "pools[0].gres_type: The inventory has no GRES type"),
        (
            "gres_type: a100}",
            "gres_type: a100, partition: cpu}",
            "partitions with “a100”: gpu, low",
        ),
        ("name: c1", "name: c2", "clusters[0].name: The inventory is that of “c1”."),
        ("nodes.yaml", "none.yaml", "clusters[0].inventory: The inventory was refused: "),
    ],
)
def test_a_pool_that_contradicts_the_inventory_is_refused(
    read_with_inventory, before, after, message
):
    with pytest.raises(SiteFileError) as caught:
        read_with_inventory(before, after)
    assert message in str(caught.value)
