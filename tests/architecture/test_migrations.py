"""Models and migrations say the same, and migrations have names."""

from pathlib import Path

from django.apps import apps
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState

ROOT = Path(__file__).resolve().parents[2]


def test_no_migration_is_missing() -> None:
    state = MigrationLoader(None, ignore_no_migrations=True).project_state()
    detector = MigrationAutodetector(state, ProjectState.from_apps(apps))
    ours = {config.label for config in apps.get_app_configs() if config.name.startswith("portal.")}
    changes = detector._detect_changes()
    assert {app: changes[app] for app in ours & set(changes)} == {}


def test_migrations_are_named() -> None:
    names = [path.stem for path in ROOT.glob("portal/*/migrations/0*.py")]
    assert names
    assert [name for name in names if "_auto_" in name] == []
