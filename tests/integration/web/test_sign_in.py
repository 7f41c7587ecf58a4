"""Signing in: what is wrong is said, and trying on and on is stopped."""

from datetime import timedelta

import pytest
import time_machine
from django.test import Client

from portal.audit.models import AuditEvent
from tests.integration.factories import NOW, World

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


def test_an_expired_form_is_told_what_to_do(world: World) -> None:
    client = Client(enforce_csrf_checks=True)
    response = client.post("/login/", {"username": "ada", "password": PASSWORD})
    assert response.status_code == 403
    html = response.content.decode()
    assert "The form had expired" in html
    assert "load the page again" in html
    assert "ask your project" not in html
