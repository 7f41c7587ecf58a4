"""Lists in pages of 50: a page number that makes no sense shows the nearest page."""

from typing import Any

from django.core.paginator import Page, Paginator
from django.http import HttpRequest

PAGE_SIZE = 50


def paginate(request: HttpRequest, rows: Any) -> Page[Any]:
    """Return the page of rows that ?page= asks for."""
    return Paginator(rows, PAGE_SIZE).get_page(request.GET.get("page"))
