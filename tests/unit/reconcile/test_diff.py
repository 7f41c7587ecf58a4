"""The difference between what should be and what is."""

from dataclasses import replace

import pytest

from portal.reconcile.diff import diff
from portal.reconcile.state import (
    Action,
    Change,
    DesiredState,
    Kind,
    ObjectKey,
    ObservedState,
    Plan,
    RemovalLimit,
    list_observed_keys,
)
from portal.slurm.values import Account, Association, LiveJob, Qos, SlurmUser, make_tres

LIMIT = RemovalLimit(percent=30, count=5)
ORG = Account("sw-physics", "root", "Physics", "physics")
PROJECT = Account("p1001", "sw-physics", "Climate", "physics")
QOS = Qos("sw-p1001-a100-1", "x", 10, frozenset({"NoDecay"}), make_tres({"gres/gpu": 4}))
ADA = Association("p1001", "sw-ada", frozenset({QOS.name}), QOS.name)
BEN = Association("p1001", "sw-ben", frozenset({QOS.name}), QOS.name)
FOREIGN = Association("chem", "sw-ben", frozenset({"normal"}), "normal")
DESIRED = DesiredState((ORG, PROJECT), (QOS,), (ADA, BEN))
USERS = (SlurmUser("sw-ada", "p1001"), SlurmUser("sw-ben", "p1001"))
OBSERVED = ObservedState((ORG, PROJECT), USERS, (ADA, BEN), (QOS, Qos("normal")))
OWNED = frozenset(list_observed_keys(OBSERVED)) - {ObjectKey(Kind.QOS, "normal")}


def job(**values: str) -> LiveJob:
    defaults = {
        "job_id": "7",
        "account": "p1001",
        "user": "sw-ben",
        "state": "RUNNING",
        "partition": "gpu",
        "qos": QOS.name,
        "reason": "",
    }
    return LiveJob(**{**defaults, **values})


def steps(changes: tuple[Change, ...]) -> list[tuple[str, str]]:
    return [(change.action.value, change.name) for change in changes]


def sentences(plan: Plan) -> str:
    return "\n".join(change.sentence for change in plan.blocked + plan.deferred)


def test_an_empty_slurm_gets_accounts_then_qos_then_associations():
    plan = diff(DESIRED, ObservedState(), frozenset(), LIMIT)
    assert steps(plan.changes) == [
        ("create", "sw-physics"),
        ("create", "p1001"),
        ("create", QOS.name),
        ("create", "p1001:sw-ada"),
        ("create", "p1001:sw-ben"),
    ]
    assert plan.in_force == frozenset()


def test_nothing_to_do_gives_an_empty_plan():
    plan = diff(DESIRED, OBSERVED, OWNED, LIMIT)
    assert not plan.has_drift
    assert plan.in_force == OWNED


def test_the_case_of_descriptions_and_flags_is_no_difference():
    accounts = (ORG, replace(PROJECT, description="climate", organization="PHYSICS"))
    qos = (replace(QOS, description="X", flags=frozenset({"nodecay"})),)
    observed = replace(OBSERVED, accounts=accounts, qos=qos)
    assert not diff(DESIRED, observed, OWNED, LIMIT).has_drift


def test_a_limit_changed_by_hand_is_put_back_and_the_sentence_says_which():
    by_hand = replace(QOS, grp_tres=make_tres({"gres/gpu": 99}), grp_submit_jobs=0)
    plan = diff(DESIRED, replace(OBSERVED, qos=(by_hand,)), OWNED, LIMIT)
    assert steps(plan.changes) == [("change", QOS.name)]
    assert "GrpTRES gres/gpu=99 -> gres/gpu=4" in plan.changes[0].sentence
    assert "GrpSubmitJobs 0 -> none" in plan.changes[0].sentence


def test_an_account_that_moved_is_moved_back():
    moved = replace(PROJECT, parent="root")
    plan = diff(DESIRED, replace(OBSERVED, accounts=(ORG, moved)), OWNED, LIMIT)
    assert steps(plan.changes) == [("change", "p1001")]
    assert "Parent root -> sw-physics" in plan.changes[0].sentence


def test_an_object_of_ours_that_somebody_deleted_is_made_again():
    plan = diff(DESIRED, replace(OBSERVED, qos=()), OWNED, LIMIT)
    assert steps(plan.changes) == [("create", QOS.name)]


def test_an_account_of_others_is_never_touched_and_what_hangs_on_it_waits():
    theirs = Account("p1001", "root", "Somebody's", "other")
    observed = ObservedState((ORG, theirs), (), (), ())
    plan = diff(DESIRED, observed, frozenset({ObjectKey(Kind.ACCOUNT, ORG.name)}), LIMIT)
    assert steps(plan.changes) == [("create", QOS.name)]
    assert steps(plan.blocked) == [("block", "p1001")]
    assert "the portal did not make it" in plan.blocked[0].sentence


def test_what_is_below_a_blocked_account_is_blocked_with_a_sentence():
    theirs = replace(ORG, description="Somebody's")
    plan = diff(DESIRED, ObservedState((theirs,)), frozenset(), LIMIT)
    assert steps(plan.blocked) == [("block", "sw-physics"), ("block", "p1001")]
    assert "parent account sw-physics is blocked" in sentences(plan)


def test_a_qos_of_others_is_left_out_of_the_lists():
    other = replace(QOS, name="sw-p1001-1g-2")
    both = frozenset({QOS.name, other.name})
    desired = replace(
        DESIRED, qos=(QOS, other), associations=(replace(ADA, qos=both, default_qos=other.name),)
    )
    observed = ObservedState(qos=(replace(other, description="theirs"),))
    plan = diff(desired, observed, frozenset(), LIMIT)
    made = plan.changes[-1].after
    assert made == replace(ADA, qos=frozenset({QOS.name}), default_qos=QOS.name)
    assert steps(plan.blocked) == [("block", other.name)]


def test_no_association_is_made_without_a_qos_of_its_own():
    plan = diff(DESIRED, ObservedState(qos=(QOS,)), frozenset(), LIMIT)
    assert ("create", "p1001:sw-ada") not in steps(plan.changes)
    assert "sw-ada gets no association" in sentences(plan)


def test_associations_of_others_are_not_touched_not_even_under_our_account():
    stranger = Association("p1001", "guest", frozenset({"normal"}), "normal")
    observed = replace(OBSERVED, associations=(ADA, BEN, stranger, FOREIGN))
    assert not diff(DESIRED, observed, OWNED, LIMIT).has_drift


def test_the_default_account_is_repaired_before_its_association_goes():
    desired = replace(DESIRED, associations=(ADA,))
    observed = replace(OBSERVED, associations=(ADA, BEN, FOREIGN))
    plan = diff(desired, observed, OWNED, LIMIT)
    assert steps(plan.changes) == [("change", "sw-ben"), ("remove", "p1001:sw-ben")]
    assert "from p1001 to chem" in plan.changes[0].sentence


def test_a_default_account_among_the_wanted_comes_before_others():
    second = replace(PROJECT, name="p2002")
    ben2 = replace(BEN, account="p2002")
    desired = replace(DESIRED, accounts=(ORG, PROJECT, second), associations=(ADA, ben2))
    observed = replace(OBSERVED, associations=(ADA, BEN, FOREIGN))
    plan = diff(desired, observed, OWNED, LIMIT)
    assert "from p1001 to p2002" in "".join(change.sentence for change in plan.changes)
    kinds = [change.kind for change in plan.changes]
    assert kinds.index(Kind.DEFAULT_ACCOUNT) > kinds.index(Kind.ASSOCIATION)


def test_a_users_only_association_goes_without_a_new_default():
    plan = diff(replace(DESIRED, associations=(ADA,)), OBSERVED, OWNED, LIMIT)
    assert steps(plan.changes) == [("remove", "p1001:sw-ben")]


def test_a_user_of_ours_without_a_default_account_gets_one():
    users = (USERS[0], SlurmUser("sw-ben", ""))
    plan = diff(DESIRED, replace(OBSERVED, users=users), OWNED, LIMIT)
    assert steps(plan.changes) == [("change", "sw-ben")]


def test_an_association_with_jobs_stays_until_they_are_done():
    desired = replace(DESIRED, associations=(ADA,))
    plan = diff(desired, replace(OBSERVED, jobs=(job(),)), OWNED, LIMIT)
    assert plan.changes == ()
    assert steps(plan.deferred) == [("defer", "p1001:sw-ben")]
    assert "1 job runs or waits under it (7)" in sentences(plan)


def test_jobs_of_others_hold_up_nothing():
    desired = replace(DESIRED, associations=(ADA,))
    jobs = (job(account="chem"), job(user="sw-ada"))
    plan = diff(desired, replace(OBSERVED, jobs=jobs), OWNED, LIMIT)
    assert steps(plan.changes) == [("remove", "p1001:sw-ben")]


def test_a_qos_with_jobs_stays_and_stays_in_the_lists_of_those_who_have_it():
    old = replace(QOS, name="sw-p1001-a100-0")
    both = frozenset({QOS.name, old.name})
    observed = replace(
        OBSERVED,
        qos=(QOS, old),
        associations=(replace(ADA, qos=both), replace(BEN, qos=both)),
        jobs=(job(qos=old.name),),
    )
    owned = OWNED | {ObjectKey(Kind.QOS, old.name)}
    plan = diff(DESIRED, observed, owned, LIMIT)
    assert plan.changes == ()
    assert steps(plan.deferred) == [("defer", old.name)]
    done = diff(DESIRED, replace(observed, jobs=()), owned, LIMIT)
    assert steps(done.changes) == [
        ("change", "p1001:sw-ada"),
        ("change", "p1001:sw-ben"),
        ("remove", old.name),
    ]


def test_a_qos_that_is_the_default_of_what_must_stay_stays_too():
    desired = DesiredState((ORG,))
    observed = replace(OBSERVED, associations=(BEN,), jobs=(job(qos="other"),))
    plan = diff(desired, observed, OWNED, LIMIT)
    assert steps(plan.deferred) == [
        ("defer", "p1001:sw-ben"),
        ("defer", QOS.name),
        ("defer", "p1001"),
    ]


def test_a_qos_is_not_taken_from_an_association_that_keeps_its_list():
    # Slurm gives an association whose last QOS goes its account's list: no limit of ours.
    by_hand = replace(BEN, default_qos="")
    desired = DesiredState((ORG,))
    observed = replace(OBSERVED, associations=(by_hand,), jobs=(job(qos="other"),))
    plan = diff(desired, observed, OWNED, LIMIT)
    assert ("defer", QOS.name) in steps(plan.deferred)
    assert "sw-ben's association with p1001 lists it" in sentences(plan)
    theirs = replace(QOS, name="theirs")
    wanted = replace(BEN, qos=frozenset({theirs.name}), default_qos=theirs.name)
    desired = replace(DESIRED, qos=(theirs,), associations=(wanted,))
    plan = diff(desired, replace(OBSERVED, qos=(QOS, theirs), associations=(BEN,)), OWNED, LIMIT)
    assert plan.changes == ()
    assert ("defer", QOS.name) in steps(plan.deferred)


def test_a_project_that_is_gone_goes_associations_first_and_its_account_last():
    plan = diff(DesiredState((ORG,)), OBSERVED, OWNED, LIMIT)
    assert steps(plan.changes) == [
        ("remove", "p1001:sw-ada"),
        ("remove", "p1001:sw-ben"),
        ("remove", QOS.name),
        ("remove", "p1001"),
    ]


def test_child_accounts_go_before_their_parents():
    plan = diff(DesiredState(), OBSERVED, OWNED, LIMIT)
    assert steps(plan.changes)[-2:] == [("remove", "p1001"), ("remove", "sw-physics")]


def test_a_parent_goes_when_its_child_moves_away():
    new_org = replace(ORG, name="sw-new")
    desired = replace(DESIRED, accounts=(new_org, replace(PROJECT, parent="sw-new")))
    plan = diff(desired, OBSERVED, OWNED, LIMIT)
    assert steps(plan.changes) == [
        ("create", "sw-new"),
        ("change", "p1001"),
        ("remove", "sw-physics"),
    ]


@pytest.mark.parametrize(
    ("observed", "reason"),
    [
        (replace(OBSERVED, associations=(ADA, BEN, replace(ADA, user="guest"))), "guest's"),
        (replace(OBSERVED, accounts=(ORG, PROJECT, Account("sub", "p1001"))), "account sub"),
        (replace(OBSERVED, jobs=(job(user="gone", qos="normal"),)), "1 job"),
    ],
)
def test_an_account_stays_while_something_of_others_is_under_it(observed, reason):
    plan = diff(DesiredState((ORG,)), observed, OWNED, LIMIT)
    assert ("defer", "p1001") in steps(plan.deferred)
    assert reason in sentences(plan)


def test_removing_too_much_at_once_is_refused_and_the_rest_still_happens():
    users = [f"sw-u{number}" for number in range(20)]
    all_of_them = tuple(replace(ADA, user=user) for user in users)
    observed = replace(OBSERVED, associations=all_of_them, users=())
    owned = frozenset(list_observed_keys(observed)) - {ObjectKey(Kind.QOS, "normal")}
    desired = replace(DESIRED, associations=(*all_of_them[:10], replace(ADA, user="sw-new")))
    plan = diff(desired, observed, owned, LIMIT)
    assert steps(plan.changes) == [("create", "p1001:sw-new")]
    assert "10 of 23 objects" in plan.blocked[0].sentence
    assert "--allow-removals" in plan.blocked[0].sentence
    allowed = diff(desired, observed, owned, RemovalLimit(percent=100))
    assert sum(change.action is Action.REMOVE for change in allowed.changes) == 10


@pytest.mark.parametrize(
    ("removals", "owned", "is_exceeded"),
    [(5, 5, False), (6, 20, False), (6, 19, True), (30, 100, False), (31, 100, True)],
)
def test_the_guard_lets_pass_what_is_just_within_it(removals: int, owned: int, is_exceeded: bool):
    assert LIMIT.is_exceeded(removals, owned) is is_exceeded


def test_applying_a_plan_in_thought_leaves_nothing_to_do():
    plan = diff(DESIRED, ObservedState(), frozenset(), LIMIT)
    owned = frozenset(change.key for change in plan.changes)
    assert not diff(DESIRED, OBSERVED, owned, LIMIT).has_drift
