"""What the portal's rows become in Slurm's terms."""

from dataclasses import replace

from portal.reconcile.state import Action
from portal.reconcile.wanted import (
    WantedCluster,
    WantedLine,
    WantedOrganisation,
    WantedProject,
    build_desired_state,
    clean_description,
)
from portal.slurm.values import Account, Qos

PRIORITIES = {"on_demand": 1000, "spot": 100}
SCIENCE = WantedOrganisation("science", "Science", "sw-science")
PHYSICS = WantedOrganisation("physics", "Physics", "sw-physics", "sw-science")
LINE = WantedLine(
    line_id=3,
    allocation_id=2,
    qos="sw-p1001-a100-3",
    gres_type="a100",
    partition="gpu",
    units=4,
    unit_hours=100,
    purchase_option="on_demand",
    offering_title="A100 80 GB",
    max_wall_hours=48,
)
PROJECT = WantedProject("p1001", "Climate", PHYSICS, frozenset({"sw-ada", "sw-ben"}), (LINE,))


def build(*projects: WantedProject):
    organisations = {o.account: o for o in (SCIENCE, PHYSICS)}
    return build_desired_state(WantedCluster(organisations, projects), PRIORITIES)


def test_makes_accounts_for_the_organisation_tree_parents_first():
    assert build(PROJECT).accounts == (
        Account("sw-science", "root", "Science", "science"),
        Account("sw-physics", "sw-science", "Physics", "physics"),
        Account("p1001", "sw-physics", "Climate", "physics"),
    )


def test_limits_a_line_by_type_and_by_an_untyped_backstop():
    assert build(PROJECT).qos == (
        Qos(
            name="sw-p1001-a100-3",
            description="p1001 A100 80 GB on_demand",
            priority=1000,
            flags=frozenset({"DenyOnLimit", "NoDecay"}),
            grp_tres=(("gres/gpu", 4), ("gres/gpu:a100", 4)),
            grp_tres_mins=(("gres/gpu", 6000), ("gres/gpu:a100", 6000)),
            max_wall_minutes=2880,
        ),
    )


def test_a_stopped_line_takes_no_submissions_and_is_not_the_default():
    held = replace(LINE, stop="On hold.")
    other = replace(LINE, line_id=9, qos="sw-p1001-1g.10gb-9", gres_type="1g.10gb")
    desired = build(replace(PROJECT, lines=(held, other)))
    assert [qos.grp_submit_jobs for qos in desired.qos] == [0, None]
    assert {a.default_qos for a in desired.associations} == {other.qos}
    assert {a.qos for a in desired.associations} == {frozenset({held.qos, other.qos})}


def test_spot_has_its_own_priority():
    desired = build(replace(PROJECT, lines=(replace(LINE, purchase_option="spot"),)))
    assert desired.qos[0].priority == 100


def test_a_project_named_like_an_organisations_account_is_a_conflict():
    desired = build(replace(PROJECT, code="sw-science"))
    assert [change.action for change in desired.conflicts] == [Action.BLOCK]
    assert "sw-science" in desired.conflicts[0].sentence
    assert desired.qos == ()
    assert desired.associations == ()


def test_a_circle_of_organisations_ends():
    science = replace(SCIENCE, parent="sw-physics")
    wanted = WantedCluster({o.account: o for o in (science, PHYSICS)}, (PROJECT,))
    names = [account.name for account in build_desired_state(wanted, PRIORITIES).accounts]
    assert names == ["sw-science", "sw-physics", "p1001"]


def test_descriptions_are_plain_words_that_every_slurm_gives_back():
    assert clean_description("Université “d'été” | x=1,y", "p1") == "Universite d ete x 1 y"
    assert clean_description("气候", "p1001") == "p1001"
    assert len(clean_description("long " * 90, "p1")) <= 120
