"""Puts the portal in order for a run: secret key, database, static files, site, passwords."""

import hashlib
import io
import json
import logging
import os
import secrets
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from portal.ops.demo.console import DemoError
from portal.ops.demo.layout import DemoLayout
from portal.sandbox.cluster import Sandbox
from portal.sandbox.processes import write_atomically

SITE_FILE = Path(__file__).with_name("site.yaml")
CLUSTER_NAME = "sluiceway"
TITLE = "Surrogate models for plasma physics"
BEGIN_ANEW = "make clean, then make demo: both begin anew, Slurm and the portal"
_SECRET = "SLUICEWAY_SECRET_KEY"
_URL = "SLUICEWAY_PUBLIC_URL"


def write_env_file(layout: DemoLayout) -> bool:
    """Write var/sluiceway.env with a secret key of its own (kept once made) and the URL.

    Lines of other settings stay. Returns whether the key is new.
    """
    path = layout.env_file
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    has_key = any(len(line.partition("=")[2]) >= 32 for line in lines if line.startswith(_SECRET))
    kept = [line for line in lines if not line.startswith(f"{_URL}=")]
    if not has_key:
        kept = [line for line in kept if not line.startswith(f"{_SECRET}=")]
        kept.append(f"{_SECRET}={secrets.token_urlsafe(48)}")
    write_atomically(path, "\n".join([*kept, f"{_URL}={layout.url}"]) + "\n", 0o600)
    return not has_key


def set_old_books_aside(layout: DemoLayout, sandbox: Sandbox) -> str:
    """Move the portal's database away where the sandbox's Slurm has lost its own since.

    What cleans /var/tmp may take Slurm's accounting along. Its DBIndex then begins at 1 again, and
    new jobs would be taken for those in the portal. Returns a sentence, "" where nothing moved.
    DemoError where it is the portal's database that was lost: Slurm still has jobs and objects
    that a new one would not know.
    """
    current = sandbox.state.database_id
    before = layout.read_state().get("slurm_database", current)
    sentence = ""
    if before == current and layout.read_state().get("has_books"):
        if not layout.database_file.exists():
            raise DemoError(f"{layout.database_file} is gone", next_step=BEGIN_ANEW)
        return ""
    if before != current and layout.database_file.exists():
        aside = f"sluiceway-before-{current}.sqlite3"
        for ending in ("-shm", "-wal", ""):  # the database last: an interrupt is taken up again
            source = Path(f"{layout.database_file}{ending}")
            if source.exists():
                source.rename(layout.var / f"{aside}{ending}")
        sentence = f"Slurm's accounting was lost, so the portal begins anew; {aside} is its past"
    layout.save_state(slurm_database=current, has_books=layout.database_file.exists())
    return sentence


def start_django(layout: DemoLayout) -> None:
    """Load Django with this demo's settings into this process."""
    os.environ.update(layout.make_environment())
    import django

    django.setup()
    root = logging.getLogger()
    for handler in list(root.handlers):
        root.removeHandler(handler)
    root.addHandler(logging.FileHandler(layout.log_file))


def migrate_database(layout: DemoLayout) -> tuple[int, str]:
    """Bring the database up to date; return how many migrations ran and its journal mode."""
    from django.core.management import call_command
    from django.db import DatabaseError, connection
    from django.db.migrations.executor import MigrationExecutor

    try:
        executor = MigrationExecutor(connection)
        plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
        call_command("migrate", interactive=False, verbosity=0)
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA journal_mode")
            mode = str(cursor.fetchone()[0])
    except DatabaseError as error:
        reason = f"{layout.database_file}: {error}"
        raise DemoError(reason, next_step=f"repair that; or {BEGIN_ANEW}") from error
    layout.save_state(has_books=True)
    return len(plan), mode


def collect_static() -> None:
    """Gather the static files that the web server sends."""
    from django.core.management import call_command

    call_command("collectstatic", interactive=False, verbosity=0)


def choose_project(layout: DemoLayout) -> str:
    """Return the code of this run's project: the next one as soon as the last has a request.

    Each run plays the main job with a project of its own, so that nothing an earlier run left,
    half-done or changed by hand, is in its way.
    """
    from portal.allocations.models import AllocationRequest

    number = max(1, int(layout.read_state().get("run", 1)))
    while AllocationRequest.objects.filter(project__code=f"p{1000 + number}").exists():
        number += 1
    layout.save_state(run=number)
    return f"p{1000 + number}"


def load_demo_site(layout: DemoLayout, sandbox: Sandbox, project: str) -> dict[str, int]:
    """Load the demo's site description; return how many things were created, changed, same."""
    from collections import Counter

    from django.utils import timezone

    from portal.ops.site.load import load_site
    from portal.ops.site.read import read_site_file

    number = int(project[1:]) - 1000
    variables = {
        "USER_PREFIX": layout.user_prefix,
        "PROJECT": project,
        "PROJECT_TITLE": TITLE if number == 1 else f"{TITLE}, part {number}",
        "SLURM_CONF": str(sandbox.slurm_conf),
        "POLICY_DIR": str(sandbox.policy_folder),
    }
    description, document = read_site_file(SITE_FILE, variables)
    outcomes = load_site(description, document, now=timezone.now())
    return dict(Counter(str(outcome.verb) for outcome in outcomes))


def set_passwords(layout: DemoLayout) -> dict[str, str]:
    """Give each person of the demo a random password, once; return login -> password.

    They are kept in var/demo-logins.json, readable to root alone.
    """
    from django.contrib.auth.hashers import make_password

    from portal.projects.models import RoleGrant, User

    kept = layout.read_logins()
    people = User.objects.filter(
        pk__in=[
            *User.objects.filter(memberships__isnull=False).values_list("pk", flat=True),
            *RoleGrant.objects.values_list("user_id", flat=True),
        ],
        email__endswith=".example",
    ).order_by("pk")
    logins: dict[str, str] = {}
    for user in people:
        password = kept.get(user.username) or secrets.token_urlsafe(9)
        logins[user.username] = password
    # The file first: a run that is killed in between finds the passwords and sets them again.
    write_atomically(layout.logins_file, json.dumps(logins, indent=1) + "\n", 0o600)
    marks = dict(layout.read_state().get("password_marks", {}))
    stale = [user for user in people if marks.get(user.username) != _mark(user.password)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # slow on purpose, and frees the interpreter
        hashes = list(pool.map(make_password, [logins[user.username] for user in stale]))
    for user, hashed in zip(stale, hashes, strict=True):
        user.password = hashed
        user.save(update_fields=["password"])
        marks[user.username] = _mark(hashed)
    layout.save_state(password_marks=marks)
    return logins


def _mark(hashed: str) -> str:
    """Return a sign by which a later run sees that the stored password is the demo's still."""
    return hashlib.sha256(hashed.encode()).hexdigest()[:16]


def schedule_ticks() -> None:
    """Make sure that the task worker runs every tick each minute."""
    from django.core.management import call_command

    call_command("schedule_ticks", verbosity=0, stdout=io.StringIO())
