"""Says in words what an object is and what a Change does: for pages, dry runs and the audit."""

from typing import Any

from portal.reconcile.state import DefaultAccount, Kind, ObjectKey, Plan, SlurmObject
from portal.slurm.values import Account, Qos, TresCounts

MAX_TOLD_CHANGES = 500
LABELS = {
    Kind.ACCOUNT: "account",
    Kind.QOS: "QOS",
    Kind.ASSOCIATION: "association",
    Kind.DEFAULT_ACCOUNT: "default account",
}


def name_object(key: ObjectKey) -> str:
    """Return e.g. "QOS sw-p1001-a100-3" or "sw-ada's association with p1001"."""
    if key.kind is Kind.ASSOCIATION:
        account, _, user = key.name.partition(":")
        return f"{user}'s association with {account}"
    if key.kind is Kind.DEFAULT_ACCOUNT:
        return f"{key.name}'s default account"
    return f"{LABELS[key.kind]} {key.name}"


def describe_object(thing: SlurmObject) -> dict[str, str]:
    """Return an object's wanted values as readable pairs, named as sacctmgr names them."""
    if isinstance(thing, Account):
        return {
            "Parent": thing.parent,
            "Description": thing.description,
            "Organization": thing.organization,
        }
    if isinstance(thing, Qos):
        return _describe_qos(thing)
    if isinstance(thing, DefaultAccount):
        return {"DefaultAccount": thing.account}
    return {"QOS": ",".join(sorted(thing.qos)), "DefaultQOS": thing.default_qos}


def _describe_qos(qos: Qos) -> dict[str, str]:
    values: dict[str, str | int | None] = {
        "Description": qos.description,
        "Priority": qos.priority,
        "Flags": ",".join(sorted(qos.flags)),
        "GrpTRES": render_tres(qos.grp_tres),
        "GrpTRESMins": render_tres(qos.grp_tres_mins),
        "MaxTRESPU": render_tres(qos.max_tres_per_user),
        "MaxWall": _render_minutes(qos.max_wall_minutes),
        "MaxSubmitPU": qos.max_submit_jobs_per_user,
        "GrpSubmitJobs": qos.grp_submit_jobs,
    }
    return {name: str(value) for name, value in values.items() if value not in (None, "")}


def render_tres(counts: TresCounts) -> str:
    """Return a TRES list as Slurm writes it, e.g. "gres/gpu=4,gres/gpu:a100=4"."""
    return ",".join(f"{name}={count}" for name, count in counts)


def _render_minutes(minutes: int | None) -> str:
    if minutes is None:
        return ""
    days, rest = divmod(minutes, 24 * 60)
    return f"{days}-{rest // 60:02}:{rest % 60:02}:00"


def describe_difference(before: SlurmObject, after: SlurmObject) -> str:
    """Return what differs, e.g. "GrpTRES gres/gpu=4 -> gres/gpu=2; GrpSubmitJobs none -> 0"."""
    old, new = describe_object(before), describe_object(after)
    return "; ".join(
        f"{name} {old.get(name) or 'none'} -> {new.get(name) or 'none'}"
        for name in {**old, **new}
        if old.get(name, "").casefold() != new.get(name, "").casefold()
    )


def describe_creation(key: ObjectKey, after: SlurmObject) -> str:
    """Return the sentence of a creation."""
    values = ", ".join(f"{name} {value}" for name, value in describe_object(after).items() if value)
    return f"Create {name_object(key)}: {values}."


def tell_plan(plan: Plan) -> list[dict[str, Any]]:
    """Return a Plan's changes, deferred and blocked ones as JSON rows; a long one is cut."""
    told = [*plan.blocked, *plan.deferred, *plan.changes]
    rows: list[dict[str, Any]] = [
        {
            "action": change.action.value,
            "kind": change.kind.value,
            "name": change.name,
            "sentence": change.sentence,
        }
        for change in told[:MAX_TOLD_CHANGES]
    ]
    if len(told) > MAX_TOLD_CHANGES:
        more = f"… and {len(told) - MAX_TOLD_CHANGES} more changes."
        rows.append({"action": "more", "kind": "", "name": "", "sentence": more})
    return rows
