"""The site as pages need it: its zone, its currency and its today, read once per request."""

from dataclasses import dataclass
from datetime import date, datetime
from zoneinfo import ZoneInfo

from django.http import HttpRequest
from django.utils import timezone

from accounting.money import Currency
from portal.common.errors import PortalError
from portal.projects.selectors import get_site


@dataclass(frozen=True, slots=True)
class SiteView:
    """What is true of the whole site while one page is made; `now` is the page's one clock."""

    name: str
    zone: ZoneInfo
    currency: Currency
    support_email: str
    now: datetime

    @property
    def today(self) -> date:
        """The day of the site's zone."""
        return self.now.astimezone(self.zone).date()


def read_site(request: HttpRequest) -> SiteView:
    """Return the site for this request; raises PortalError where none is loaded."""
    known = getattr(request, "_sluiceway_site", None)
    if isinstance(known, SiteView):
        return known
    row = get_site()
    site = SiteView(
        name=row.name,
        zone=ZoneInfo(row.time_zone),
        currency=Currency(row.currency, row.currency_exponent),
        support_email=row.support_email,
        now=timezone.now(),
    )
    request._sluiceway_site = site  # type: ignore[attr-defined]
    return site


def read_site_or_none(request: HttpRequest) -> SiteView | None:
    """Return the site, or None before a site description was loaded."""
    try:
        return read_site(request)
    except PortalError:
        return None
