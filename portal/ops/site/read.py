"""Reads a site file into a Description: syntax, then types, then references; all errors at once."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gres_config.document import Document, parse_document, read_text
from gres_config.errors import DocumentError
from gres_config.problems import Place, Problem, suggest
from gres_config.sentences import list_problems
from portal.ops.site.description import Description
from portal.ops.site.pools import fill_pools
from portal.ops.site.problems import SiteFileError


def read_site_file(path: Path, variables: Mapping[str, str]) -> tuple[Description, Document]:
    """Return the file's description and its document (for lines); raises SiteFileError."""
    try:
        text = read_text(path)
    except DocumentError as error:
        raise SiteFileError(str(path), error.problems) from error
    return read_site_text(text, str(path), variables)


def read_site_text(
    text: str, file_name: str, variables: Mapping[str, str]
) -> tuple[Description, Document]:
    """Return the text's description and document; raises SiteFileError with every problem."""
    try:
        document = parse_document(text, file_name, variables)
    except DocumentError as error:
        raise SiteFileError(file_name, error.problems) from error
    against = fill_pools(document)
    try:
        description = Description.model_validate(document.data)
    except ValidationError as error:
        problems = list_problems(error, document, Description)
        raise SiteFileError(file_name, [*problems, *against]) from error
    against += [
        Problem(document.find_line(place), place, sentence)
        for place, sentence in _check_references(description)
    ]
    if against:
        raise SiteFileError(file_name, against)
    return description, document


Found = Iterator[tuple[Place, str]]


def _check_references(description: Description) -> Found:
    yield from _check_unique(description)
    yield from _check_tree(description)
    yield from _check_people(description)
    yield from _check_catalogue(description)


def _find_doubles(name: str, items: Iterable[Any], *keys: str) -> Found:
    """Yield a problem for each item whose key (or keys together) an earlier item has."""
    seen: dict[tuple[Any, ...], int] = {}
    for index, item in enumerate(items):
        value = tuple(getattr(item, key) for key in keys)
        if value == (None,):
            continue
        if value in seen:
            shown = ", ".join(str(part) for part in value if part is not None)
            sentence = f"“{shown}” stands already at {name}[{seen[value]}]."
            yield (name, index, keys[0]), sentence
        seen.setdefault(value, index)


def _check_unique(description: Description) -> Found:
    for name, key in (
        ("organisations", "code"),
        ("organisations", "slurm_account"),
        ("people", "username"),
        ("people", "unix_name"),
        ("projects", "code"),
        ("clusters", "name"),
        ("offerings", "code"),
    ):
        yield from _find_doubles(name, getattr(description, name), key)
    keys = ("offering", "purchase_option", "organisation", "from_date")
    yield from _find_doubles("prices", description.prices, *keys)
    for index, cluster in enumerate(description.clusters):
        for keys_of_pool in (("code",), ("gres_type", "partition")):
            for place, sentence in _find_doubles("pools", cluster.pools, *keys_of_pool):
                yield ("clusters", index, *place), sentence
    accounts = {item.slurm_account: item.code for item in description.organisations}
    for index, project in enumerate(description.projects):
        if project.code in accounts:
            sentence = f"“{project.code}” is the Slurm account of {accounts[project.code]}."
            yield ("projects", index, "code"), sentence
        for place, sentence in _find_doubles("members", project.members, "user"):
            yield ("projects", index, *place), sentence


def _refer(place: Place, word: str | None, known: Iterable[str], what: str) -> Found:
    known = set(known)
    if word is not None and word not in known:
        yield place, f"The file has no {what} “{word}”.{suggest(word, known)}"


def _check_tree(description: Description) -> Found:
    parents = {item.code: item.parent for item in description.organisations}
    for index, item in enumerate(description.organisations):
        place = ("organisations", index, "parent")
        yield from _refer(place, item.parent, parents, "organisation")
        above, steps = item.parent, 0
        while above is not None and above != item.code and steps <= len(parents):
            above, steps = parents.get(above), steps + 1
        if above == item.code:
            yield place, f"“{item.code}” would stand above itself."


def _check_people(description: Description) -> Found:
    organisations = {item.code for item in description.organisations}
    people = {item.username for item in description.people}
    for index, person in enumerate(description.people):
        for number, role in enumerate(person.roles):
            place: Place = ("people", index, "roles", number, "organisation")
            yield from _refer(place, role.organisation, organisations, "organisation")
    for index, project in enumerate(description.projects):
        place = ("projects", index, "organisation")
        yield from _refer(place, project.organisation, organisations, "organisation")
        for number, member in enumerate(project.members):
            place = ("projects", index, "members", number, "user")
            yield from _refer(place, member.user, people, "person")


def _check_catalogue(description: Description) -> Found:
    pools = {item.name: {pool.code: pool for pool in item.pools} for item in description.clusters}
    offerings = {item.code: item for item in description.offerings}
    organisations = {item.code for item in description.organisations}
    for index, offering in enumerate(description.offerings):
        yield from _refer(("offerings", index, "cluster"), offering.cluster, pools, "cluster")
        if offering.cluster in pools:
            known = pools[offering.cluster]
            yield from _refer(("offerings", index, "pool"), offering.pool, known, "pool")
    for index, price in enumerate(description.prices):
        place = ("prices", index)
        yield from _refer((*place, "offering"), price.offering, offerings, "offering")
        yield from _refer(
            (*place, "organisation"), price.organisation, organisations, "organisation"
        )
        sold = offerings.get(price.offering)
        pool = pools.get(sold.cluster, {}).get(sold.pool) if sold else None
        if price.purchase_option == "spot" and pool and not pool.spot_partition:
            yield (*place, "purchase_option"), f"The pool {pool.code} has no spot_partition."
