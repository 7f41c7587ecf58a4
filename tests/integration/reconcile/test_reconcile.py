"""From an approved request to Slurm's objects, and back to the page."""

from datetime import timedelta
from pathlib import Path

import pytest

from portal.allocations.models import Allocation
from portal.allocations.services import place_hold, release_hold
from portal.audit.models import AuditEvent
from portal.projects.choices import ProjectState
from portal.projects.models import Membership, Project
from portal.projects.services import add_member, remove_member
from portal.reconcile.models import OwnedObject, ReconcileRun
from portal.reconcile.selectors import (
    get_slurm_state,
    latest_run,
    list_objects_for_allocation,
    list_qos_states,
)
from portal.reconcile.services import plan_cluster, reconcile_cluster
from portal.slurm.errors import SlurmCommandError
from portal.slurm.values import Account, Association
from tests.integration.factories import NOW, World, add_person, make_user
from tests.integration.reconcile.support import (
    get_qos,
    get_slurm,
    list_pairs,
    make_job,
    run,
)

MINUTE = timedelta(minutes=1)


def test_an_approved_allocation_is_in_force_after_one_run(world: World, allocation: Allocation):
    assert get_slurm_state(allocation, NOW).state == "waiting"
    names = [line.qos_name for line in allocation.lines.all()]
    assert list_qos_states(names) == {}
    result = run(world)
    assert result.outcome == "changed"
    assert list_pairs(world) == {("p1001", "sw-ada"), ("p1001", "sw-ben")}
    line = allocation.lines.get(offering=world.a100)
    qos = get_qos(world, line.qos_name)
    assert qos.grp_tres == (("gres/gpu", 4), ("gres/gpu:a100", 4))
    assert qos.grp_tres_mins == (("gres/gpu", 6000), ("gres/gpu:a100", 6000))
    state = get_slurm_state(allocation, NOW)
    assert state.is_in_force
    assert state.checked_at == NOW
    assert list_qos_states([*names, "other"]) == dict.fromkeys(names, "in_force")
    objects = list_objects_for_allocation(allocation)
    assert {thing.state for thing in objects} == {"in_force"}
    assert [thing.kind for thing in objects] == ["account", *["qos"] * 2, *["association"] * 2]
    assert "GrpTRES=gres/gpu=4,gres/gpu:a100=4" in objects[2].spec + objects[1].spec


def test_a_changed_run_is_audited_and_a_quiet_one_is_not(world: World, allocation: Allocation):
    run(world)
    run(world)
    events = AuditEvent.objects.filter(action="reconcile")
    assert events.count() == 1
    assert "Create account p1001" in str(events.get().data["changes"])


def test_quiet_runs_share_one_row(world: World, allocation: Allocation):
    run(world)
    for minute in range(1, 5):
        assert run(world, NOW + minute * MINUTE).outcome == "in_force"
    assert ReconcileRun.objects.count() == 2
    latest = latest_run(world.cluster)
    assert latest is not None
    assert latest.started_at < NOW + 2 * MINUTE
    assert latest.finished_at is not None
    assert latest.finished_at >= NOW + 4 * MINUTE
    assert set(OwnedObject.objects.values_list("confirmed_at", flat=True)) == {NOW + 4 * MINUTE}


def test_a_quiet_run_asks_slurm_a_fixed_number_of_times(
    world: World, allocation: Allocation, django_assert_max_num_queries
):
    run(world)
    get_slurm(world).calls.clear()
    with django_assert_max_num_queries(30):
        run(world)
    assert sum(get_slurm(world).calls.values()) == 6


def test_slurm_away_waits_and_the_next_run_makes_it_so(world: World, allocation: Allocation):
    slurm = get_slurm(world)
    slurm.is_away = True
    assert run(world).outcome == "waiting"
    assert run(world, NOW + MINUTE).outcome == "waiting"
    assert ReconcileRun.objects.count() == 1
    state = get_slurm_state(allocation, NOW)
    assert state.state == "waiting"
    assert "does not answer" in state.reason
    assert state.since == allocation.created_at
    assert {thing.state for thing in list_objects_for_allocation(allocation)} == {"waiting"}
    slurm.is_away = False
    assert run(world, NOW + 2 * MINUTE).outcome == "changed"
    assert get_slurm_state(allocation, NOW).is_in_force
    assert world.cluster.contact_error == ""


def test_what_was_in_force_says_how_old_that_is_while_slurm_is_away(
    world: World, allocation: Allocation
):
    run(world)
    get_slurm(world).is_away = True
    run(world, NOW + MINUTE)
    state = get_slurm_state(allocation, NOW)
    assert state.is_in_force
    assert state.checked_at == NOW
    assert "does not answer" in state.contact_error


def test_a_hold_stops_submissions_and_its_release_lets_them_go_on(
    world: World, allocation: Allocation
):
    run(world)
    line = allocation.lines.get(offering=world.a100)
    place_hold(actor=world.operator, line=line, reason="Unpaid", now=NOW)
    get_slurm(world).is_away = True
    run(world)
    assert get_slurm_state(allocation, NOW).state == "waiting"
    get_slurm(world).is_away = False
    run(world)
    assert get_qos(world, line.qos_name).grp_submit_jobs == 0
    assert get_slurm_state(allocation, NOW).is_in_force
    release_hold(actor=world.operator, line=line, now=NOW)
    run(world)
    assert get_qos(world, line.qos_name).grp_submit_jobs is None


def test_an_allocation_stops_on_its_end_date_and_nothing_is_removed(
    world: World, allocation: Allocation
):
    run(world)
    result = run(world, NOW + timedelta(days=30))
    assert {change["action"] for change in result.changes} == {"change"}
    stops = [get_qos(world, line.qos_name).grp_submit_jobs for line in allocation.lines.all()]
    assert stops == [0, 0]


def test_an_ended_project_stops(world: World, allocation: Allocation):
    run(world)
    Project.objects.filter(pk=world.project.pk).update(state=ProjectState.ENDED)
    run(world)
    stops = {get_qos(world, line.qos_name).grp_submit_jobs for line in allocation.lines.all()}
    assert stops == {0}
    assert len(list_pairs(world)) == 2


def test_an_allocation_that_begins_later_is_not_in_slurm_yet(world: World):
    later = world.make_input().start_date + timedelta(days=3)
    allocation = world.approve(world.submit(start_date=later))
    assert run(world).outcome == "in_force"
    state = get_slurm_state(allocation, NOW)
    assert state.state == "not_started"
    assert later.isoformat() in state.reason
    assert run(world, NOW + timedelta(days=3)).outcome == "changed"
    assert get_slurm_state(allocation, NOW + timedelta(days=3)).is_in_force


def test_a_new_member_gets_in_and_a_removed_one_out(world: World, allocation: Allocation):
    run(world)
    add_member(actor=world.pi, project=world.project, username="eve", role="member", now=NOW)
    membership = Membership.objects.get(project=world.project, user=world.member)
    remove_member(actor=world.pi, membership=membership, now=NOW)
    run(world)
    assert list_pairs(world) == {("p1001", "sw-ada"), ("p1001", "sw-eve")}
    assert not OwnedObject.objects.filter(name="p1001:sw-ben").exists()


def test_a_removed_member_keeps_the_other_account_as_default(world: World, allocation: Allocation):
    slurm = get_slurm(world)
    run(world)
    slurm.save_accounts([Account("chem")])
    slurm.save_associations([Association("chem", "sw-ben", frozenset({"normal"}), "normal")])
    Membership.objects.get(project=world.project, user=world.member).delete()
    run(world)
    assert ("p1001", "sw-ben") not in list_pairs(world)
    defaults = {user.name: user.default_account for user in slurm.list_users()}
    assert defaults["sw-ben"] == "chem"


def test_a_member_with_jobs_stays_until_they_are_done(world: World, allocation: Allocation):
    run(world)
    line = allocation.lines.get(offering=world.a100)
    get_slurm(world).add_job(make_job("sw-ben", line.qos_name))
    Membership.objects.get(project=world.project, user=world.member).delete()
    result = run(world)
    assert result.outcome == "in_force"
    assert [change["action"] for change in result.changes] == ["defer"]
    assert OwnedObject.objects.get(name="p1001:sw-ben").state == "leaving"
    assert get_slurm_state(allocation, NOW).is_in_force
    get_slurm(world).end_job("7")
    assert run(world).outcome == "changed"
    assert ("p1001", "sw-ben") not in list_pairs(world)


def test_a_member_without_a_unix_login_is_skipped_and_told(world: World, allocation: Allocation):
    add_person(world.project, make_user("nora", unix_name=None))
    plan = plan_cluster(world.cluster, get_slurm(world), NOW)
    assert plan.notes == (
        "nora has no Unix login and gets no access to p1001 in Slurm: an operator enters the "
        "login.",
    )
    assert run(world).outcome == "changed"


def test_a_person_who_is_not_active_any_more_loses_access(world: World, allocation: Allocation):
    run(world)
    world.member.is_active = False
    world.member.save()
    run(world)
    assert list_pairs(world) == {("p1001", "sw-ada")}


def test_an_account_of_others_is_left_alone_and_the_page_says_so(
    world: World, allocation: Allocation
):
    slurm = get_slurm(world)
    theirs = Account("p1001", "root", "since 2016", "others")
    slurm.save_accounts([theirs])
    result = run(world)
    assert result.outcome == "blocked"
    assert theirs in slurm.list_accounts()
    assert list_pairs(world) == set()
    state = get_slurm_state(allocation, NOW)
    assert state.state == "waiting"
    assert "the portal did not make it" in state.reason
    assert run(world).outcome == "blocked"
    run(world)
    assert ReconcileRun.objects.count() == 2
    slurm.delete_accounts(["p1001"])
    run(world)
    assert get_slurm_state(allocation, NOW).is_in_force


def test_a_change_by_hand_is_drift_and_is_put_back(world: World, allocation: Allocation):
    run(world)
    line = allocation.lines.get(offering=world.a100)
    slurm = get_slurm(world)
    before = get_qos(world, line.qos_name)
    slurm.save_qos([type(before)(line.qos_name)])
    assert plan_cluster(world.cluster, slurm, NOW).has_drift
    run(world)
    assert get_qos(world, line.qos_name) == before


def test_removing_most_of_it_at_once_needs_a_persons_word(world: World, allocation: Allocation):
    people = [make_user(f"guest{number}") for number in range(12)]
    for person in people:
        add_person(world.project, person)
    run(world)
    Membership.objects.filter(user__in=people).delete()
    result = run(world)
    assert result.outcome == "blocked"
    assert "--allow-removals" in result.error
    assert len(list_pairs(world)) == 14
    assert run(world, allow_removals=True).outcome == "changed"
    assert len(list_pairs(world)) == 2


def test_another_slurm_that_answers_is_never_written_to(world: World, allocation: Allocation):
    slurm = get_slurm(world)
    slurm.answering_cluster = "production"
    result = run(world)
    assert result.outcome == "failed"
    assert "production" in result.error
    assert slurm.list_accounts() == ()


def test_one_refusal_does_not_hold_up_the_others(
    world: World, allocation: Allocation, monkeypatch: pytest.MonkeyPatch
):
    slurm = get_slurm(world)
    save = slurm.save_associations

    def refuse_ben(associations):
        if any(a.user == "sw-ben" for a in associations):
            raise SlurmCommandError(("sacctmgr", "add", "user"), 1, "", "no such user sw-ben")
        save(associations)

    monkeypatch.setattr(slurm, "save_associations", refuse_ben)
    result = run(world)
    assert result.outcome == "failed"
    assert "no such user sw-ben" in result.error
    assert list_pairs(world) == {("p1001", "sw-ada")}
    assert get_slurm_state(allocation, NOW).state == "waiting"
    run(world)
    run(world)
    assert ReconcileRun.objects.count() == 2


def test_nothing_runs_while_another_worker_is_at_it(world: World, monkeypatch):
    from portal.common.leases import hold_lease

    with hold_lease(f"reconcile {world.cluster.name}", seconds=60) as is_ours:
        assert is_ours
        assert reconcile_cluster(world.cluster, get_slurm(world), NOW) is None


def test_the_policy_is_written_with_what_is_left_and_who_may(
    world: World, allocation: Allocation, tmp_path: Path
):
    (tmp_path / "job_submit.lua").write_text("")
    world.cluster.policy_dir = str(tmp_path)
    world.cluster.save()
    run(world, read_used=lambda names: dict.fromkeys(names, 3600))
    text = (tmp_path / "sluiceway_policy.lua").read_text()
    assert '["sw-ada"] = true' in text
    assert "remaining_unit_minutes = 5940" in text
    line = allocation.lines.get(offering=world.a100)
    place_hold(actor=world.operator, line=line, reason="Unpaid.", now=NOW)
    run(world)
    text = (tmp_path / "sluiceway_policy.lua").read_text()
    assert "The allocation is on hold: Unpaid." in text
    assert "remaining_unit_minutes = nil" in text


def test_a_policy_that_cannot_be_written_is_told(world: World, allocation: Allocation):
    world.cluster.policy_dir = "/nonexistent/folder"
    world.cluster.save()
    result = run(world)
    assert result.outcome == "failed"
    assert "policy could not be written" in result.error
    assert get_slurm_state(allocation, NOW).is_in_force
