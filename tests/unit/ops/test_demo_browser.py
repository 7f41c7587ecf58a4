"""Forms as a browser would send them, and the sentences of a page that refuses."""

import pytest

from portal.ops.demo.browser import Page, find_errors, find_form
from portal.ops.demo.console import DemoError

PAGE = """
<form action="/logout/"><input type="hidden" name="token" value="a"></form>
<form action="/send/" method="post">
  <input type="hidden" name="token" value="b"><input name="units" value="2">
  <select name="project"><option value="">Choose</option><option value="p1" selected>P</option>
  </select>
  <select name="first"><option value="x">X</option><option value="y">Y</option></select>
  <textarea name="why">a &amp; b</textarea>
  <input type="checkbox" name="off" value="1"><input type="checkbox" name="on" value="1" checked>
  <button type="submit" name="decision" value="approve">Approve</button>
</form>
"""


def test_reads_the_form_that_has_the_field():
    form = find_form(PAGE, "units")
    assert form.action == "/send/"
    assert form.fields == {
        "token": "b",
        "units": "2",
        "project": "p1",
        "first": "x",
        "why": "a & b",
        "on": "1",
    }


def test_finds_a_form_by_its_button():
    assert find_form(PAGE, "decision").action == "/send/"


def test_says_that_no_form_has_the_field():
    with pytest.raises(DemoError, match="no form with the field “nothing”"):
        find_form(PAGE, "nothing")


def test_returns_the_sentences_of_a_refusal():
    html = '<h1>Not so</h1><p>x</p><div class="invalid-feedback">Ask for <b>less</b>.</div>'
    assert find_errors(html) == ["Not so", "Ask for", "less", "."]


def test_takes_the_number_of_a_thing_from_its_address():
    assert Page(200, "http://127.0.0.1:8000/requests/17/?x=3", "").number_in_url == 17
    with pytest.raises(DemoError):
        _ = Page(200, "http://127.0.0.1:8000/requests/new/", "").number_in_url
