"""What the portal's rows ask of a cluster, as pure values, and its translation into Slurm's."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

from portal.reconcile.state import Action, Change, DesiredState, Kind
from portal.slurm.values import Account, Association, Qos, make_tres

QOS_FLAGS = frozenset({"DenyOnLimit", "NoDecay"})
MAX_DESCRIPTION = 120


@dataclass(frozen=True, slots=True)
class WantedLine:
    """An allocation line that has begun; `stop` is the sentence that says why no job may start."""

    line_id: int
    allocation_id: int
    qos: str
    gres_type: str
    partition: str
    units: int
    unit_hours: int
    purchase_option: str
    offering_title: str
    max_wall_hours: int
    stop: str | None = None


@dataclass(frozen=True, slots=True)
class WantedOrganisation:
    """An organisation's account; `parent` is "" at the top of the tree."""

    code: str
    name: str
    account: str
    parent: str = ""


@dataclass(frozen=True, slots=True)
class WantedProject:
    """A project with lines on the cluster; `members` are Unix logins."""

    code: str
    title: str
    organisation: WantedOrganisation
    members: frozenset[str]
    lines: tuple[WantedLine, ...]


@dataclass(frozen=True, slots=True)
class WantedCluster:
    """All that a cluster should know; `organisations` holds ancestors too, by account."""

    organisations: Mapping[str, WantedOrganisation]
    projects: tuple[WantedProject, ...]
    notes: tuple[str, ...] = ()


def build_desired_state(wanted: WantedCluster, priorities: Mapping[str, int]) -> DesiredState:
    """Return Slurm's objects for what is wanted.

    One account for each organisation and project, one QOS for each line, one association for each
    member. `priorities` gives the QOS priority of each purchase option.
    """
    organisations = _list_parents_first(wanted)
    accounts = [_build_organisation_account(organisation) for organisation in organisations]
    taken = {account.name for account in accounts}
    conflicts: list[Change] = []
    qos: list[Qos] = []
    associations: list[Association] = []
    for project in wanted.projects:
        if project.code in taken:
            conflicts.append(_report_name_clash(project))
            continue
        accounts.append(_build_project_account(project))
        qos.extend(_build_qos(project, line, priorities) for line in project.lines)
        associations.extend(_build_associations(project))
    return DesiredState(
        accounts=tuple(accounts),
        qos=tuple(qos),
        associations=tuple(associations),
        conflicts=tuple(conflicts),
        notes=wanted.notes,
    )


def _list_parents_first(wanted: WantedCluster) -> list[WantedOrganisation]:
    ordered: dict[str, WantedOrganisation] = {}
    for project in wanted.projects:
        path: list[WantedOrganisation] = []
        step: WantedOrganisation | None = project.organisation
        while step is not None and step.account not in ordered and step not in path:
            path.append(step)
            step = wanted.organisations.get(step.parent)
        ordered.update((organisation.account, organisation) for organisation in reversed(path))
    return list(ordered.values())


def _build_organisation_account(organisation: WantedOrganisation) -> Account:
    return Account(
        name=organisation.account,
        parent=organisation.parent or "root",
        description=clean_description(organisation.name, organisation.code),
        organization=organisation.code,
    )


def _build_project_account(project: WantedProject) -> Account:
    return Account(
        name=project.code,
        parent=project.organisation.account,
        description=clean_description(project.title, project.code),
        organization=project.organisation.code,
    )


def _report_name_clash(project: WantedProject) -> Change:
    sentence = (
        f"Project {project.code} has the name of an organisation's account: give one of them "
        "another name; until then the project gets no account."
    )
    return Change(Action.BLOCK, Kind.ACCOUNT, project.code, sentence)


def _build_qos(project: WantedProject, line: WantedLine, priorities: Mapping[str, int]) -> Qos:
    """Return a line's QOS.

    The typed limit counts only jobs that ask for the type, so the untyped one stands beside it
    (resource_limits: "design limitation"). A MIG instance counts as one gres/gpu, so the same
    number is right for both.
    """
    minutes = line.unit_hours * 60
    typed = f"gres/gpu:{line.gres_type}"
    description = f"{project.code} {line.offering_title} {line.purchase_option}"
    return Qos(
        name=line.qos,
        description=clean_description(description, line.qos),
        priority=priorities.get(line.purchase_option, 0),
        flags=QOS_FLAGS,
        grp_tres=make_tres({typed: line.units, "gres/gpu": line.units}),
        grp_tres_mins=make_tres({typed: minutes, "gres/gpu": minutes}),
        max_wall_minutes=line.max_wall_hours * 60,
        grp_submit_jobs=0 if line.stop else None,
    )


def _build_associations(project: WantedProject) -> list[Association]:
    """Return one association a member.

    Lines that are stopped stay in the list, so that what still runs or waits under them is not
    disturbed; the default is the first line that takes jobs.
    """
    names = frozenset(line.qos for line in project.lines)
    ordered = sorted(project.lines, key=lambda line: (line.stop is not None, line.line_id))
    return [
        Association(account=project.code, user=user, qos=names, default_qos=ordered[0].qos)
        for user in sorted(project.members)
    ]


def clean_description(text: str, fallback: str) -> str:
    """Return text that every Slurm stores and shows unchanged but for case.

    sacctmgr lowers the case, quotes and separators damage its output, and the character set of
    slurmdbd's tables is the site's: so plain ASCII words, or the fallback where none are left.
    """
    folded = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    kept = "".join(c if c.isalnum() or c in " .-_:()/+" else " " for c in folded)
    return " ".join(kept.split())[:MAX_DESCRIPTION].strip() or fallback
