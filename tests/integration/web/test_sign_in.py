"""Signing in: what is wrong is said, and trying on and on is stopped."""

from datetime import timedelta

import pytest
import time_machine
from django.test import Client
from django.urls import reverse

from portal.allocations.models import RequestComment
from portal.audit.models import AuditEvent
from portal.web.landing import FORM_PAGES, find_landing
from portal.web.urls import urlpatterns
from tests.integration.factories import NOW, TODAY, World

PASSWORD = "a long enough password"


def sign_in_as(client: Client, login: str, password: str, address: str = "192.0.2.1") -> int:
    data = {"username": login, "password": password}
    return client.post("/login/", data, REMOTE_ADDR=address).status_code


def test_after_ten_wrong_passwords_the_right_one_must_wait(world: World, client: Client) -> None:
    assert [sign_in_as(client, "ada", f"wrong {n}") for n in range(10)] == [400] * 10
    response = client.post(
        "/login/", {"username": "ada", "password": PASSWORD}, REMOTE_ADDR="192.0.2.1"
    )
    assert response.status_code == 429
    assert "failed too often" in response.content.decode()
    assert AuditEvent.objects.filter(action="fail_sign_in", actor="ada").count() == 10
    with time_machine.travel(NOW + timedelta(minutes=15, seconds=1), tick=False):
        assert sign_in_as(client, "ada", PASSWORD) == 302


def test_others_and_other_addresses_are_not_held_up(world: World) -> None:
    for number in range(12):
        sign_in_as(Client(), "ada", f"wrong {number}")
    assert sign_in_as(Client(), "ben", PASSWORD) == 302
    assert sign_in_as(Client(), "ada", PASSWORD, "192.0.2.7") == 302


@pytest.mark.parametrize(("login", "password"), [("", ""), ("ada", ""), ("", "x")])
def test_what_is_missing_is_asked_for(
    world: World, client: Client, login: str, password: str
) -> None:
    response = client.post("/login/", {"username": login, "password": password})
    html = response.content.decode()
    assert response.status_code == 400
    assert ("Write your login" in html) == (not login)
    assert ("Write your password" in html) == (not password)
    assert AuditEvent.objects.count() == 0


@pytest.mark.parametrize("login", ["x" * 100_000, "\U0001f600", "a' OR 1=1--"])
def test_odd_logins_are_wrong_logins(world: World, client: Client, login: str) -> None:
    assert sign_in_as(client, login, "x") == 400
    assert sign_in_as(client, "ada", login) == 400


def test_an_old_cookie_is_worth_nothing_after_signing_out(world: World, client: Client) -> None:
    assert sign_in_as(client, "ada", PASSWORD) == 302
    cookies = client.cookies.copy()
    assert client.post("/logout/").status_code == 302
    client.cookies = cookies
    assert client.get("/").url.startswith("/login/")


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example", "javascript:x"])
def test_signing_in_leads_to_no_other_host(world: World, client: Client, target: str) -> None:
    data = {"username": "ada", "password": PASSWORD, "next": target}
    assert client.post("/login/", data).url == "/"


def test_a_form_sent_after_the_session_ended_leads_back_to_its_page(
    world: World, client: Client
) -> None:
    row = world.submit()
    sent = client.post(f"/requests/{row.pk}/comment/", {"comment": "Why so much?"})
    assert sent.url == f"/login/?next=/requests/{row.pk}/comment/"
    html = client.get(sent.url).content.decode()
    assert "You are signed out, so nothing was stored." in html
    assert f'name="next" value="/requests/{row.pk}/"' in html
    data = {"username": "ada", "password": PASSWORD}
    landed = client.post(sent.url, data, follow=True)
    assert landed.redirect_chain == [(f"/requests/{row.pk}/", 302)]
    assert landed.status_code == 200
    assert RequestComment.objects.count() == 0


def test_who_only_opens_a_page_or_signs_out_is_told_of_no_form(world: World, sign_in) -> None:
    client = Client()
    address = client.get("/requests/").url
    assert "nothing was stored" not in client.get(address).content.decode()
    client = sign_in(world.pi)
    address = client.post("/logout/").url
    assert "nothing was stored" not in client.get(address).content.decode()


@pytest.mark.parametrize(
    ("asked", "page"),
    [
        ("/projects/p1001/members/add/", "/projects/p1001/"),
        ("/allocations/7/lines/9/hold/", "/allocations/7/"),
        ("/allocations/7/lines/9/release/", "/allocations/7/"),
        ("/logout/", "/"),
        ("/login/", "/"),
        ("http://testserver/requests/7/comment/?x=1", "/requests/7/"),
        ("/requests/?page=2", "/requests/?page=2"),
        ("/requests/new/?offering=a100", "/requests/new/?offering=a100"),
        ("/reviews/7/", "/reviews/7/"),
        ("/nowhere/", "/nowhere/"),
        ("/projects/p%00/members/add/", "/projects/p%00/members/add/"),
    ],
)
def test_signing_in_leads_to_a_page_that_can_be_opened(
    world: World, client: Client, asked: str, page: str
) -> None:
    data = {"username": "ada", "password": PASSWORD, "next": asked}
    assert client.post("/login/", data).url == page
    assert client.get("/login/", {"next": asked}).url == page


def test_no_address_that_only_takes_a_form_is_forgotten(world: World, sign_in) -> None:
    client = sign_in(world.pi)
    examples = {"code": "p1001", "pk": 7, "line_pk": 9, "month": TODAY}
    refused = set()
    for pattern in urlpatterns:
        names = pattern.pattern.converters
        address = reverse(pattern.name, kwargs={name: examples[name] for name in names})
        if client.get(address).status_code == 405:
            refused.add(pattern.name)
            client.force_login(world.pi)
            assert client.get(find_landing(address)).status_code != 405
    assert refused | {"login"} == set(FORM_PAGES)


def test_an_expired_form_is_told_what_to_do(world: World) -> None:
    client = Client(enforce_csrf_checks=True)
    response = client.post("/login/", {"username": "ada", "password": PASSWORD})
    assert response.status_code == 403
    html = response.content.decode()
    assert "The form had expired" in html
    assert "load the page again" in html
    assert "ask your project" not in html
