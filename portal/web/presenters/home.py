"""What needs the reader's attention, and the reader's projects."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from django.urls import reverse

from portal.allocations.choices import RequestState
from portal.allocations.models import AllocationRequest
from portal.allocations.selectors import (
    list_allocations_of,
    list_requests_of,
    list_review_queue,
)
from portal.inventory.models import Cluster
from portal.inventory.selectors import list_active_clusters
from portal.projects.models import Project, User
from portal.projects.selectors import list_requestable_projects, list_visible_projects
from portal.reconcile.models import ReconcileRun
from portal.reconcile.selectors import latest_run
from portal.usage.selectors import count_open_quarantine, get_last_run
from portal.web.access import get_site_roles
from portal.web.presenters.allocations import (
    AllocationView,
    LineView,
    list_allocation_views,
    list_lines,
)
from portal.web.presenters.chargeback import count_unpriced, find_scope
from portal.web.presenters.links import ClusterLink, list_cluster_links
from portal.web.presenters.usage import previous_month
from portal.web.site import SiteView
from portal.web.templatetags.portal import age

MOST = 5
MOST_ALLOCATIONS = 200
MOST_PROJECTS = 12
MOST_ERROR = 200
MOST_LINES = 6
NEWS_DAYS = 7
TONE_RANKS = {"bad": 0, "warn": 1, "wait": 2}


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing to look at: a tone, a sentence, what more there is to say, and where to go."""

    tone: str
    text: str
    note: str
    url: str
    action: str


@dataclass(frozen=True, slots=True)
class ProjectCard:
    """A project of the reader with the first lines in force, and how many more there are."""

    project: Project
    lines: tuple[tuple[AllocationView, LineView], ...]
    more_count: int


@dataclass(frozen=True, slots=True)
class HomeView:
    """The home page."""

    notices: tuple[Notice, ...]
    cards: tuple[ProjectCard, ...]
    links: tuple[ClusterLink, ...]
    can_ask: bool
    is_member: bool


def make_home_view(user: User, site: SiteView) -> HomeView:
    """Return the reader's home; a fixed number of queries, whatever the rows."""
    rows = (
        list_allocations_of(user)
        .filter(end_date__gt=site.today, project__memberships__user=user)
        .distinct()[:MOST_ALLOCATIONS]
    )
    views = list_allocation_views(list(rows), site)
    projects = list(
        list_visible_projects(user)
        .filter(memberships__user=user, state="active")
        .select_related("organisation")
        .order_by("code")[:MOST_PROJECTS]
    )
    roles = get_site_roles(user)
    is_operator = roles.is_operator
    notices = [
        *(_list_operator_notices(site) if is_operator else ()),
        *(_list_review_notices(user, site) if roles.is_approver else ()),
        *(_list_price_notices(user, site) if is_operator or roles.is_finance else ()),
        *_list_request_notices(user, site),
        *_list_allocation_notices(views),
    ]
    return HomeView(
        notices=tuple(notices),
        cards=tuple(_make_card(project, views) for project in projects),
        links=tuple(list_cluster_links(list_active_clusters())) if is_operator else (),
        can_ask=list_requestable_projects(user).exists(),
        is_member=bool(projects),
    )


def _make_card(project: Project, views: list[AllocationView]) -> ProjectCard:
    own = (view for view in views if view.allocation.project_id == project.pk)
    lines = list_lines(view for view in own if view.is_in_force)
    return ProjectCard(project, tuple(lines[:MOST_LINES]), max(len(lines) - MOST_LINES, 0))


def _list_operator_notices(site: SiteView) -> Iterator[Notice]:
    for cluster in list_active_clusters():
        yield from _list_cluster_notices(cluster, site)
    count = count_open_quarantine()
    if count:
        yield _tell_operators(
            "warn",
            f"{count} accounting row{'s' if count != 1 else ''} could not be read",
            "Kept, and not billed until someone deals with it.",
        )


def _list_cluster_notices(cluster: Cluster, site: SiteView) -> Iterator[Notice]:
    if cluster.contact_error:
        last = age(cluster.contact_at, site.now)
        note = f"Last contact: {last}. {_cut(cluster.contact_error)}"
        yield _tell_operators("bad", f"{cluster.title} does not answer", note)
    run = latest_run(cluster)
    if run is not None and run.outcome == ReconcileRun.Outcome.FAILED:
        note = _cut(run.error) or "See the worker's log."
        yield _tell_operators("bad", f"The last reconcile of {cluster.title} failed", note)
    read = get_last_run(cluster)
    if read is not None and read.error:
        text = f"Reading the accounting of {cluster.title} failed"
        yield _tell_operators("bad", text, _cut(read.error))


def _tell_operators(tone: str, text: str, note: str) -> Notice:
    return Notice(tone, text, note, reverse("operations"), "See operations")


def _cut(error: str) -> str:
    return error.strip().partition("\n")[0][:MOST_ERROR]


def _list_review_notices(user: User, site: SiteView) -> Iterator[Notice]:
    queue = list(list_review_queue(user)[: MOST + 1])
    for row in queue[:MOST]:
        lines = ", ".join(f"{line.units} × {line.offering.title}" for line in row.lines.all())
        yield Notice(
            "wait",
            f"{row.project.code} asks for {lines}",
            f"{row.requester.get_full_name() or row.requester}, {age(row.submitted_at, site.now)}",
            reverse("review_detail", args=[row.pk]),
            f"Review #{row.pk}",
        )
    if len(queue) > MOST:
        yield Notice("wait", "More requests wait", "", reverse("review_queue"), "Open the queue")


def _list_price_notices(user: User, site: SiteView) -> Iterator[Notice]:
    this_month, scope = site.today.replace(day=1), find_scope(user)
    for month in (this_month, previous_month(this_month)):
        count = count_unpriced(month, scope)
        if count:
            yield Notice(
                "warn",
                f"Usage without a price in {month:%B %Y}: {count} line{'s' if count != 1 else ''}",
                "Shown, but not charged until the offering has a price.",
                reverse("chargeback", args=[month]),
                "See chargeback",
            )


def _list_request_notices(user: User, site: SiteView) -> Iterator[Notice]:
    rows = list_requests_of(user)
    for row in rows.filter(state=RequestState.CHANGES_REQUESTED)[:MOST]:
        yield _tell_request(
            row,
            "changes are asked for",
            "Read what the reviewer wrote, change it and send it again.",
        )
    lately = site.now - timedelta(days=NEWS_DAYS)
    for row in rows.filter(state=RequestState.REJECTED, decided_at__gte=lately)[:MOST]:
        yield _tell_request(row, "rejected", f"Read why; decided {age(row.decided_at, site.now)}.")


def _tell_request(row: AllocationRequest, what: str, note: str) -> Notice:
    text = f"Request #{row.pk} for {row.project.code}: {what}"
    url = reverse("request_detail", args=[row.pk])
    return Notice("warn", text, note, url, f"Open #{row.pk}")


def _list_allocation_notices(views: list[AllocationView]) -> list[Notice]:
    """Return the worst first; of very many, how many more there are."""
    notices = sorted(_list_each_notice(views), key=lambda notice: TONE_RANKS[notice.tone])
    more = len(notices) - MOST
    if more <= 1:
        return notices
    text = f"{more} more notes on allocations"
    tone = notices[MOST].tone
    rest = Notice(tone, text, "", reverse("allocation_list"), "See allocations")
    return [*notices[:MOST], rest]


def _list_each_notice(views: list[AllocationView]) -> Iterator[Notice]:
    for view in views:
        yield from (_tell_line(view, line) for line in view.lines if _needs_look(view, line))
        if view.ends_soon:
            last = view.allocation.end_date - timedelta(days=1)
            yield Notice(
                "warn",
                f"Allocation #{view.allocation.pk} of {view.allocation.project.code} ends soon",
                f"Its last day is {last.day} {last:%b %Y}.",
                reverse("allocation_detail", args=[view.allocation.pk]),
                f"Open #{view.allocation.pk}",
            )


def _needs_look(view: AllocationView, line: LineView) -> bool:
    return view.is_in_force and (line.tone in ("wait", "bad") or line.is_nearly_used)


def _tell_line(view: AllocationView, line: LineView) -> Notice:
    what = f"{line.line.units} × {line.line.offering.title} of {view.allocation.project.code}"
    if line.tone == "wait":
        tone, text, note = "wait", f"{what}: waiting for Slurm", "The next tick makes it so."
    elif line.tone == "bad":
        tone, text = "bad", f"{what}: {line.state_label.lower()}"
        note = "New jobs are refused; running ones go on."
    else:
        tone, text = "warn", f"{what}: {line.used_percent} % used"
        note = "Ask for more before it runs out."
    url = reverse("allocation_detail", args=[view.allocation.pk])
    return Notice(tone, text, note, url, f"Open #{view.allocation.pk}")
