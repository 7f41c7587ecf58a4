"""Foreign keys follow the floors of the house: a row points to its own floor's app or below."""

import configparser
from pathlib import Path

from django.apps import apps

ROOT = Path(__file__).resolve().parents[2]


def read_floors() -> list[set[str]]:
    """Return the apps of each floor, top to bottom, from the import contract."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / ".importlinter")
    text = parser["importlinter:contract:house"]["layers"]
    return [{name.strip() for name in line.split("|")} for line in text.split("\n") if line.strip()]


def find_wrong_keys(floors: list[set[str]], keys: list[tuple[str, str, str]]) -> list[str]:
    """Return the keys (from app, to app, name) that point sideways or up."""
    level = {app: number for number, floor in enumerate(floors) for app in floor}
    return [
        f"{name}: {source} -> {target}"
        for source, target, name in keys
        if source != target and level[source] >= level[target]
    ]


def list_keys() -> list[tuple[str, str, str]]:
    ours = {config.label for config in apps.get_app_configs() if config.name.startswith("portal.")}
    return [
        (model._meta.app_label, field.related_model._meta.app_label, str(field))
        for model in apps.get_models()
        if model._meta.app_label in ours
        for field in model._meta.get_fields()
        if field.is_relation and field.concrete and field.related_model
        if field.related_model._meta.app_label in ours
    ]


def test_foreign_keys_point_downwards() -> None:
    keys = list_keys()
    assert len(keys) > 20
    assert find_wrong_keys(read_floors(), keys) == []


def test_a_key_that_points_upwards_is_found() -> None:
    floors = [{"usage"}, {"projects", "catalog"}]
    keys = [
        ("projects", "usage", "up"),
        ("projects", "catalog", "sideways"),
        ("usage", "projects", "down"),
    ]
    assert find_wrong_keys(floors, keys) == [
        "up: projects -> usage",
        "sideways: projects -> catalog",
    ]
