"""The words for objects and changes."""

from portal.reconcile.state import Action, Change, Kind, Plan
from portal.reconcile.wording import MAX_TOLD_CHANGES, describe_object, tell_plan
from portal.slurm.values import Qos, make_tres


def test_a_qos_is_described_as_sacctmgr_names_its_limits():
    qos = Qos(
        "q",
        priority=5,
        flags=frozenset({"NoDecay", "DenyOnLimit"}),
        grp_tres=make_tres({"gres/gpu:a100": 4, "gres/gpu": 4}),
        max_wall_minutes=2910,
        grp_submit_jobs=0,
    )
    assert describe_object(qos) == {
        "Priority": "5",
        "Flags": "DenyOnLimit,NoDecay",
        "GrpTRES": "gres/gpu=4,gres/gpu:a100=4",
        "MaxWall": "2-00:30:00",
        "GrpSubmitJobs": "0",
    }


def test_a_long_plan_is_told_in_part_and_says_so():
    change = Change(Action.CREATE, Kind.QOS, "q", "Create QOS q.")
    rows = tell_plan(Plan(changes=(change,) * (MAX_TOLD_CHANGES + 3)))
    assert len(rows) == MAX_TOLD_CHANGES + 1
    assert rows[-1]["sentence"] == "… and 3 more changes."
