"""A person at the portal's pages: cookies, forms with their CSRF token and hidden fields."""

import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.client import HTTPException
from http.cookiejar import CookieJar
from pathlib import Path

from portal.ops.demo.console import DemoError


@dataclass(frozen=True, slots=True)
class Page:
    """An answer; `url` is where redirects led."""

    status: int
    url: str
    text: str

    @property
    def number_in_url(self) -> int:
        """Return the last number of the path: the id of the thing that the page shows."""
        numbers = [part for part in urllib.parse.urlsplit(self.url).path.split("/") if part]
        for part in reversed(numbers):
            if part.isdigit():
                return int(part)
        raise DemoError(f"{self.url} names no thing by number")


class Browser:
    """One person's session at a portal."""

    def __init__(self, base_url: str, server_log: Path | None = None) -> None:
        self._server_log = server_log
        self.base_url = base_url.rstrip("/")
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(CookieJar())
        )

    def get(self, path: str) -> Page:
        """Return a page; DemoError unless it answers 200."""
        return self._expect(self._open(urllib.request.Request(self._join(path))))

    def submit(self, page: Page, fields: dict[str, str], *, having: str) -> Page:
        """Send the page's form that has the field `having`, with these fields filled in."""
        form = find_form(page.text, having)
        body = urllib.parse.urlencode({**form.fields, **fields}).encode()
        url = urllib.parse.urljoin(page.url, form.action)
        request = urllib.request.Request(url, data=body, headers={"Referer": page.url})
        return self._expect(self._open(request))

    def log_in(self, username: str, password: str) -> None:
        """Log in through the login page."""
        page = self.get("/login/")
        page = self.submit(page, {"username": username, "password": password}, having="password")
        if urllib.parse.urlsplit(page.url).path.startswith("/login"):
            raise DemoError(f"the login of {username} was refused")

    def _join(self, path: str) -> str:
        return urllib.parse.urljoin(self.base_url + "/", path)

    def _open(self, request: urllib.request.Request) -> Page:
        try:
            with self._opener.open(request, timeout=30) as answer:
                return Page(answer.status, answer.url, answer.read().decode("utf-8", "replace"))
        except urllib.error.HTTPError as error:
            return Page(error.code, request.full_url, error.read().decode("utf-8", "replace"))
        except (OSError, HTTPException) as error:
            raise DemoError(
                f"{request.full_url} does not answer: {error}", log_path=self._server_log
            ) from error

    def _expect(self, page: Page) -> Page:
        if page.status != 200:
            words = "; ".join(find_errors(page.text)) or "no message on the page"
            raise DemoError(
                f"{page.url} answered {page.status}: {words}",
                log_path=self._server_log if page.status >= 500 else None,
            )
        return page


@dataclass(slots=True)
class Form:
    """A form of a page: where it goes, and what a browser would send of it."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)


class _FormParser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self._form: Form | None = None
        self._select = ""
        self._textarea = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {key: value or "" for key, value in attrs}
        if tag == "form":
            self._form = Form(values.get("action", ""))
            self.forms.append(self._form)
        if self._form is None:
            return
        name = values.get("name", "")
        if name:
            self._form.names.add(name)
        if tag == "input" and name and values.get("type") not in ("submit", "button", "file"):
            is_box = values.get("type") in ("checkbox", "radio")
            if not is_box or "checked" in values:
                self._form.fields[name] = values.get("value", "on" if is_box else "")
        elif tag == "select":
            self._select = name
        elif tag == "option" and self._select:
            if "selected" in values or self._select not in self._form.fields:
                self._form.fields[self._select] = values.get("value", "")
        elif tag == "textarea":
            self._textarea = name
            self._form.fields[name] = ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif tag == "select":
            self._select = ""
        elif tag == "textarea":
            self._textarea = ""

    def handle_data(self, data: str) -> None:
        if self._textarea and self._form is not None:
            self._form.fields[self._textarea] += data


def find_form(html: str, having: str) -> Form:
    """Return the first form that has a field of this name; DemoError when none has."""
    parser = _FormParser()
    parser.feed(html)
    for form in parser.forms:
        if having in form.names:
            return form
    raise DemoError(f"the page has no form with the field “{having}”")


class _ErrorParser(HTMLParser):
    """Collects the text of elements that show an error."""

    _MARKS = ("invalid-feedback", "errorlist", "alert-danger", "field-error", "problem")

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("br", "img", "input", "meta", "link", "hr"):
            return
        classes = dict(attrs).get("class") or ""
        if self._depth or any(mark in classes for mark in self._MARKS) or tag in ("h1",):
            self._depth += 1

    def handle_endtag(self, tag: str) -> None:
        if self._depth and tag not in ("br", "img", "input", "meta", "link", "hr"):
            self._depth -= 1

    def handle_data(self, data: str) -> None:
        if self._depth and data.strip():
            self.found.append(" ".join(data.split()))


def find_errors(html: str) -> list[str]:
    """Return the sentences with which a page refuses, its heading first."""
    parser = _ErrorParser()
    parser.feed(html)
    return parser.found[:8]
