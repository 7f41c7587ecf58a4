"""The YAML reader: text stays text, places keep their lines, doubles are refused."""

import pytest

from gres_config.document import parse_document
from gres_config.errors import DocumentError


def read(text, **variables):
    return parse_document(text, "site.yaml", variables)


def list_problems(text, **variables):
    with pytest.raises(DocumentError) as caught:
        read(text, **variables)
    return [problem.render("site.yaml") for problem in caught.value.problems]


@pytest.mark.parametrize("word", ["1.20", "007", "NO", "2026-01-01", "1e3", "true", "0x10"])
def test_keeps_every_scalar_as_text(word):
    assert read(f"a: {word}").data == {"a": word}


def test_reads_an_empty_value_as_none_and_a_quoted_one_as_text():
    assert read('a:\nb: ~\nc: null\nd: ""\ne: "null"').data == {
        "a": None,
        "b": None,
        "c": None,
        "d": "",
        "e": "null",
    }


def test_knows_the_line_of_a_place_and_of_one_that_is_missing():
    document = read("a:\n  - b: 1\n    c: 2\n")
    assert document.find_line(("a", 0, "c")) == 3
    assert document.find_line(("a", 0, "missing")) == 2


def test_refuses_a_key_that_stands_twice():
    assert list_problems("a: 1\nb: 2\na: 3\n") == [
        "site.yaml:3: a: This key stands twice: first in line 1."
    ]


def test_refuses_what_is_no_yaml_with_its_line():
    (problem,) = list_problems("a: 1\nb: [1, 2\nc: 3\n")
    assert problem.startswith("site.yaml:3: This is no YAML")


@pytest.mark.parametrize("text", ["", "# only a comment\n"])
def test_refuses_an_empty_file(text):
    assert list_problems(text) == ["site.yaml:1: The file is empty."]


def test_refuses_aliases_that_could_grow_without_bounds():
    assert "Aliases" in list_problems("a: &x [1]\nb: [*x, *x]\n")[0]


def test_refuses_a_tag_that_would_make_an_object_by_keeping_its_text():
    assert read('a: !!python/object/apply:os.system ["true"]').data == {"a": ["true"]}


def test_fills_in_a_variable():
    assert read("a: ${X}/b", X="/etc").data == {"a": "/etc/b"}


def test_names_a_variable_without_a_value():
    (problem,) = list_problems("a: 1\nb: ${USER_PREFX}\n", USER_PREFIX="sw-")
    assert problem.startswith("site.yaml:2: b: The variable “USER_PREFX” has no value.")
    assert "USER_PREFIX" in problem
