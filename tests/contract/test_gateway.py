"""One spec for every backend of the gateway: the fake always, the programs on a real Slurm."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from portal.slurm.errors import (
    SlurmCommandError,
    SlurmGuardError,
    SlurmUnavailable,
    SlurmValueError,
    WrongCluster,
)
from portal.slurm.values import Account, Association, Qos, make_tres
from tests.contract.worlds import ADA, World, wait_until

FIELDS = ("JobIDRaw", "Account", "User", "State", "AllocTRES", "JobName")
DELIMITER = "\x1f~\x1f"


def _try(act: Callable[[], None]) -> bool:
    """Act; return whether Slurm agreed (a cancelled job is known as active for a moment)."""
    try:
        act()
    except SlurmCommandError:
        return False
    return True


def _get_qos(world: World, name: str) -> Qos:
    return next(qos for qos in world.gateway.list_qos() if qos.name == name)


def _get_account(world: World, name: str) -> Account:
    return next(account for account in world.gateway.list_accounts() if account.name == name)


def _get_association(world: World, account: str, user: str) -> Association:
    rows = world.gateway.list_associations()
    return next(row for row in rows if (row.account, row.user) == (account, user))


def _get_default_account(world: World, user: str) -> str:
    return next(row for row in world.gateway.list_users() if row.name == user).default_account


def test_names_the_cluster_that_answers(world: World) -> None:
    info = world.gateway.get_cluster()
    assert info.slurm_version[0].isdigit()
    assert dict(info.config)["ClusterName"] == info.cluster_name


def test_lists_nodes_with_typed_gpu_counts(world: World) -> None:
    nodes = world.gateway.list_nodes()
    assert [node.name for node in nodes] == sorted(node.name for node in nodes)
    for node in nodes:
        assert dict(node.gres)["gpu:a100"] > 0
        assert dict(node.gres).keys() == dict(node.gres_used).keys()
        assert node.states
        assert node.partitions


def test_lists_partitions_with_the_names_of_their_nodes(world: World) -> None:
    nodes = {node.name for node in world.gateway.list_nodes()}
    for partition in world.gateway.list_partitions():
        assert partition.nodes
        assert set(partition.nodes) <= nodes
        assert "UP" in partition.states


def test_reads_accounting_as_the_single_lists_do(world: World) -> None:
    world.add_project(world.name("ada"), world.name("ben"))
    found = world.gateway.read_accounting()
    assert found.accounts == world.gateway.list_accounts()
    assert found.users == world.gateway.list_users()
    assert found.associations == world.gateway.list_associations()
    assert found.qos == world.gateway.list_qos()


def test_keeps_an_account_tree_whatever_the_order_given(world: World) -> None:
    org, team = world.name("org"), world.name("team")
    accounts = [Account(team, org, "A team", "Physics"), Account(org, "root", "Org", "Physics")]
    world.gateway.save_accounts(accounts)
    assert _get_account(world, team) == accounts[0]
    assert _get_account(world, org) == accounts[1]


def test_reads_back_what_it_wrote_of_awkward_texts(world: World) -> None:
    texts = (
        'Ada\'s "GPU" pool, n=4; where set Name=root',
        "line one\nline|two\ttabbed",
        "Größe Ωmega Łódź 東京 \\ %s $HOME `id`",
        "-i --help",
        "x" * 300,
    )
    names = [world.name(f"t{number}") for number in range(len(texts))]
    accounts = [Account(name, "root", text, text) for name, text in zip(names, texts, strict=True)]
    qos = [Qos(name, text) for name, text in zip(names, texts, strict=True)]
    world.gateway.save_accounts(accounts)
    world.gateway.save_qos(qos)
    assert set(accounts) <= set(world.gateway.list_accounts())
    assert set(qos) <= set(world.gateway.list_qos())


def test_stores_names_in_lower_case(world: World) -> None:
    world.gateway.save_accounts([Account(world.name("UPPER"), "ROOT", "text", "text")])
    assert _get_account(world, world.name("upper")).parent == "root"


def test_moves_and_describes_an_account_that_exists(world: World) -> None:
    first, second, child = world.name("one"), world.name("two"), world.name("child")
    world.gateway.save_accounts(
        [Account(first), Account(second), Account(child, first, "old", "old")]
    )
    moved = Account(child, second, "new words", "new place")
    world.gateway.save_accounts([moved])
    assert _get_account(world, child) == moved
    world.gateway.save_accounts([Account(child, second)])
    assert _get_account(world, child) == moved


def test_refuses_an_unknown_parent(world: World) -> None:
    with pytest.raises(SlurmCommandError, match="doesn't exist"):
        world.gateway.save_accounts([Account(world.name("lost"), world.name("nowhere"))])


def test_refuses_a_circle_of_accounts(world: World) -> None:
    parent, child = world.name("parent"), world.name("child")
    world.gateway.save_accounts([Account(parent), Account(child, parent)])
    with pytest.raises(SlurmGuardError):
        world.gateway.save_accounts([Account(parent, child)])
    assert _get_account(world, child).parent == parent


def test_stores_every_limit_of_a_qos_and_changes_only_what_differs(world: World) -> None:
    qos = Qos(
        world.name("line"),
        "four gpus",
        priority=10,
        flags=frozenset({"DenyOnLimit", "NoDecay"}),
        grp_tres=make_tres({"gres/gpu": 4, "gres/gpu:a100": 4}),
        grp_tres_mins=make_tres({"gres/gpu": 6_000_000, "gres/gpu:a100": 6_000_000}),
        max_tres_per_user=make_tres({"gres/gpu": 2}),
        max_wall_minutes=2 * 24 * 60 + 61,
        max_submit_jobs_per_user=100,
        grp_submit_jobs=0,
    )
    world.gateway.save_qos([qos])
    assert _get_qos(world, qos.name) == qos
    released = replace(qos, grp_submit_jobs=None, grp_tres=make_tres({"gres/gpu": 3}), priority=0)
    world.gateway.save_qos([released])
    assert _get_qos(world, qos.name) == released


def test_takes_every_limit_away_again(world: World) -> None:
    full = Qos(
        world.name("full"),
        "text",
        5,
        frozenset({"NoDecay"}),
        make_tres({"gres/gpu": 0, "cpu": 7}),
        make_tres({"gres/gpu": 1}),
        make_tres({"gres/gpu": 1}),
        30,
        3,
        9,
    )
    world.gateway.save_qos([full])
    assert _get_qos(world, full.name) == full
    bare = Qos(full.name, "text")
    world.gateway.save_qos([bare])
    assert _get_qos(world, full.name) == bare


def test_creates_a_user_with_the_first_account_as_default(world: World) -> None:
    ada, ben = world.name("ada"), world.name("ben")
    account, qos = world.add_project(ada, ben)
    assert _get_association(world, account, world.name("ada")) == Association(
        account, world.name("ada"), frozenset({qos}), qos
    )
    assert _get_default_account(world, world.name("ada")) == account
    other = world.name("other")
    world.gateway.save_accounts([Account(other)])
    world.gateway.save_associations([Association(other, world.name("ada"), frozenset({qos}), qos)])
    assert _get_default_account(world, world.name("ada")) == account


def test_gives_several_accounts_to_a_new_user_in_one_call(world: World) -> None:
    first, second, qos = world.name("one"), world.name("two"), world.name("q")
    world.gateway.save_accounts([Account(first), Account(second)])
    world.gateway.save_qos([Qos(qos)])
    rows = [Association(name, world.name("ben"), frozenset({qos}), qos) for name in (second, first)]
    world.gateway.save_associations(rows)
    assert set(rows) <= set(world.gateway.list_associations())
    assert _get_default_account(world, world.name("ben")) == second


def test_replaces_qos_list_and_default_qos_together(world: World) -> None:
    account, old = world.add_project(world.name("ada"))
    new, newer = world.name("new"), world.name("newer")
    world.gateway.save_qos([Qos(new), Qos(newer)])
    for wanted in (
        Association(account, world.name("ada"), frozenset({new, newer}), newer),
        Association(account, world.name("ada"), frozenset({old, new}), old),
        Association(account, world.name("ada"), frozenset({new}), ""),
    ):
        world.gateway.save_associations([wanted])
        assert _get_association(world, account, world.name("ada")) == wanted


def test_refuses_a_default_qos_outside_the_list(world: World) -> None:
    account, qos = world.add_project(world.name("ada"))
    with pytest.raises(SlurmValueError, match="not in its QOS list"):
        world.gateway.save_associations(
            [Association(account, world.name("ada"), frozenset({qos}), "normal")]
        )


def test_refuses_an_association_with_an_unknown_qos_or_account(world: World) -> None:
    account, _qos = world.add_project(world.name("ada"))
    bad = world.name("nosuch")
    for wanted in (
        Association(account, world.name("ben"), frozenset({bad}), bad),
        Association(bad, world.name("ben"), frozenset({"normal"}), "normal"),
    ):
        with pytest.raises(SlurmCommandError):
            world.gateway.save_associations([wanted])


def test_an_empty_qos_list_inherits_the_accounts(world: World) -> None:
    account, _qos = world.add_project(world.name("ada"))
    world.gateway.save_associations([Association(account, world.name("ada"))])
    assert _get_association(world, account, world.name("ada")).qos == {"normal"}
    assert _get_association(world, account, world.name("ada")).default_qos == ""


def test_changes_the_default_account_only_to_one_of_the_users_own(world: World) -> None:
    account, qos = world.add_project(world.name("ada"))
    other = world.name("other")
    world.gateway.save_accounts([Account(other)])
    with pytest.raises(SlurmCommandError):
        world.gateway.set_default_account(world.name("ada"), other)
    world.gateway.save_associations([Association(other, world.name("ada"), frozenset({qos}), qos)])
    world.gateway.set_default_account(world.name("ada"), other)
    world.gateway.set_default_account(world.name("ada"), other)
    assert _get_default_account(world, world.name("ada")) == other
    with pytest.raises(SlurmCommandError):
        world.gateway.set_default_account(world.name("nobody"), account)


def test_saving_again_changes_nothing(world: World) -> None:
    account, qos = world.add_project(world.name("ada"))
    before = (
        world.gateway.list_accounts(),
        world.gateway.list_qos(),
        world.gateway.list_associations(),
        world.gateway.list_users(),
    )
    assert world.add_project(world.name("ada")) == (account, qos)
    assert before == (
        world.gateway.list_accounts(),
        world.gateway.list_qos(),
        world.gateway.list_associations(),
        world.gateway.list_users(),
    )


def test_removes_associations_accounts_and_qos_and_may_do_so_again(world: World) -> None:
    account, qos = world.add_project(world.name("ada"), world.name("ben"))
    for _again in range(2):
        world.gateway.delete_associations(
            [(account, world.name("ada")), (account, world.name("ben"))]
        )
        world.gateway.delete_qos([qos])
        world.gateway.delete_accounts([account])
    assert account not in {row.account for row in world.gateway.list_associations()}
    assert account not in {row.name for row in world.gateway.list_accounts()}
    assert qos not in {row.name for row in world.gateway.list_qos()}


def test_refuses_to_remove_a_qos_that_is_a_default(world: World) -> None:
    _account, qos = world.add_project(world.name("ada"))
    with pytest.raises(SlurmCommandError, match="Default QOS"):
        world.gateway.delete_qos([qos])
    assert _get_qos(world, qos)


def test_refuses_to_remove_an_account_with_more_below_it(world: World) -> None:
    account, _qos = world.add_project(world.name("ada"))
    with pytest.raises(SlurmGuardError, match="associations"):
        world.gateway.delete_accounts([account])
    child = world.name("child")
    world.gateway.save_accounts([Account(child, account)])
    with pytest.raises(SlurmGuardError, match=child):
        world.gateway.delete_accounts([account])
    with pytest.raises(SlurmGuardError):
        world.gateway.delete_accounts(["root"])


def test_removes_a_tree_that_is_named_whole(world: World) -> None:
    parent, child = world.name("parent"), world.name("child")
    world.gateway.save_accounts([Account(parent), Account(child, parent)])
    world.gateway.delete_accounts([parent, child])
    assert not {parent, child} & {row.name for row in world.gateway.list_accounts()}


def test_an_account_removed_and_made_again_has_the_new_texts(world: World) -> None:
    account = Account(world.name("again"), "root", "before", "before")
    world.gateway.save_accounts([account])
    world.gateway.delete_accounts([account.name])
    made = replace(account, description="after", organization="after")
    world.gateway.save_accounts([made])
    assert _get_account(world, account.name) == made


def test_shows_a_job_and_protects_its_association_while_it_runs(world: World) -> None:
    ben = world.name("ben")
    account, qos = world.add_project(ADA, ben)
    job_id = world.submit(account, ADA)
    job = next(job for job in world.gateway.list_jobs() if job.job_id == job_id)
    assert (job.account, job.user, job.qos, job.partition) == (account, ADA, qos, "gpu")
    assert job.submit_at is not None
    assert abs(datetime.now(UTC) - job.submit_at) < timedelta(minutes=2)
    with pytest.raises(SlurmGuardError, match="active"):
        world.gateway.delete_associations([(account, ben), (account, ADA)])
    left = {row.user for row in world.gateway.list_associations() if row.account == account}
    assert left == {ADA}
    world.cancel(job_id)
    wait_until(lambda: _try(lambda: world.gateway.delete_associations([(account, ADA)])))


def test_streams_a_header_and_the_jobs_of_a_window(world: World) -> None:
    account, _qos = world.add_project(ADA)
    job_id = world.submit(account, ADA)
    now = datetime.now(UTC)
    rows: list[list[str]] = []

    def read() -> bool:
        rows.clear()
        window = (now - timedelta(hours=1), datetime.now(UTC) + timedelta(seconds=1))
        with world.gateway.stream_sacct(*window, FIELDS, DELIMITER) as lines:
            for line in lines:
                assert line.endswith(b"\n")
                rows.append(line[:-1].decode().split(DELIMITER))
        return any(row[0] == job_id for row in rows)

    wait_until(read)
    assert rows[0] == list(FIELDS)
    assert next(row for row in rows if row[0] == job_id)[1:3] == [account, ADA]
    with world.gateway.stream_sacct(
        now - timedelta(days=2), now - timedelta(days=1), FIELDS, DELIMITER
    ) as lines:
        assert len(list(lines)) == 1


def test_a_stream_may_be_left_early(world: World) -> None:
    now = datetime.now(UTC)
    with world.gateway.stream_sacct(now - timedelta(hours=1), now, FIELDS, DELIMITER) as lines:
        assert next(lines).startswith(b"JobIDRaw")


def test_asks_sacct_for_aware_instants_only(world: World) -> None:
    naive = datetime(2026, 1, 1)
    with pytest.raises(SlurmValueError), world.gateway.stream_sacct(naive, naive, FIELDS, "|"):
        pass


@pytest.mark.parametrize("name", ["", "-x", "a b", "a,b", "a=b", "a'b", "ü", "a\nb", "x" * 65])
def test_refuses_odd_names_before_anything_runs(world: World, name: str) -> None:
    for act in (
        lambda: world.gateway.save_accounts([Account(name)]),
        lambda: world.gateway.save_accounts([Account("a", name)]),
        lambda: world.gateway.save_qos([Qos(name)]),
        lambda: world.gateway.save_associations([Association("a", name)]),
        lambda: world.gateway.save_associations([Association(name, "a")]),
        lambda: world.gateway.set_default_account(name, "a"),
        lambda: world.gateway.delete_associations([("a", name)]),
        lambda: world.gateway.delete_accounts([name]),
        lambda: world.gateway.delete_qos([name]),
    ):
        with pytest.raises(SlurmValueError):
            act()


def test_writes_nothing_for_empty_sequences(world: World) -> None:
    before = world.gateway.list_associations()
    world.gateway.save_accounts([])
    world.gateway.save_qos([])
    world.gateway.save_associations([])
    world.gateway.delete_associations([])
    world.gateway.delete_accounts([])
    world.gateway.delete_qos([])
    assert world.gateway.list_associations() == before


def test_says_that_slurm_is_away(world: World) -> None:
    away = world.open_away()
    for act in (
        away.list_qos,
        away.list_associations,
        away.list_nodes,
        lambda: away.save_qos([Qos("x")]),
    ):
        with pytest.raises(SlurmUnavailable):
            act()
    now = datetime.now(UTC)
    with (
        pytest.raises(SlurmUnavailable),
        away.stream_sacct(now - timedelta(hours=1), now, FIELDS, DELIMITER) as lines,
    ):
        list(lines)


def test_never_writes_to_another_cluster(world: World) -> None:
    misnamed = world.open_misnamed()
    for act in (
        lambda: misnamed.save_accounts([Account("x")]),
        lambda: misnamed.save_qos([Qos("x")]),
        lambda: misnamed.save_associations([Association("x", "y")]),
        lambda: misnamed.set_default_account("x", "y"),
        lambda: misnamed.delete_associations([("x", "y")]),
        lambda: misnamed.delete_accounts(["x"]),
        lambda: misnamed.delete_qos(["x"]),
    ):
        with pytest.raises(WrongCluster):
            act()
