"""The policy of the job_submit plugin: its values, their Lua text, and how slurmctld gets it.

Pure of Django: reconcile fills the values from rows, tests and the sandbox fill them by hand.
"""

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

POLICY_FILE = "sluiceway_policy.lua"
SCRIPT_FILE = "job_submit.lua"
# The plugin refuses to use a policy of another format, and lets jobs pass.
FORMAT = 1
_PLAIN = frozenset(range(0x20, 0x7F)) - {ord('"'), ord("\\")}


@dataclass(frozen=True, slots=True)
class PolicyLine:
    """One allocation line as the plugin sees it.

    units: GPUs or instances at once; remaining_unit_minutes: None where there is no such limit;
    hold: None, or the sentence that a person is told while the line takes no jobs.
    """

    qos: str
    gres_type: str
    partition: str
    units: int
    purchase_option: str
    offering_title: str
    remaining_unit_minutes: int | None
    hold: str | None
    url: str


@dataclass(frozen=True, slots=True)
class PolicyAccount:
    """A project's Slurm account: who may use it, and its lines (the first suitable one is used)."""

    name: str
    title: str
    members: frozenset[str]
    lines: tuple[PolicyLine, ...]
    url: str


@dataclass(frozen=True, slots=True)
class Policy:
    """All that the plugin knows. `gres_types` are the GPU types that the cluster has."""

    generated_at: datetime
    portal_url: str
    gres_types: frozenset[str]
    accounts: tuple[PolicyAccount, ...]


def quote_lua(text: str) -> str:
    """Return a Lua string literal of the text's UTF-8 bytes, in printable ASCII on one line."""
    body = "".join(
        chr(byte) if byte in _PLAIN else f"\\{byte:03d}" for byte in text.encode("utf-8")
    )
    return f'"{body}"'


def render_policy(policy: Policy) -> str:
    """Return the policy as a Lua chunk that returns one table; equal policies give equal text.

    Each account is a function of its own, called at its first job: loading stays cheap, and no
    function meets Lua 5.1's limit of 2^18 constants.
    """
    generated_at = policy.generated_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    lines = [
        "-- Written by Sluiceway; changes by hand are lost.",
        f"local policy = {{ format = {FORMAT}, generated_at = {quote_lua(generated_at)} }}",
        f"policy.portal_url = {quote_lua(policy.portal_url)}",
        f"policy.gres_types = {_render_set(policy.gres_types)}",
        "policy.accounts = {}",
        "local accounts = policy.accounts",
    ]
    for account in sorted(policy.accounts, key=lambda account: account.name):
        lines += _render_account(account)
    return "\n".join([*lines, "return policy", ""])


def _render_account(account: PolicyAccount) -> Iterable[str]:
    yield f"accounts[{quote_lua(account.name)}] = function() return {{"
    yield f" name = {quote_lua(account.name)},"
    yield f" title = {quote_lua(account.title)},"
    yield f" url = {quote_lua(account.url)},"
    yield f" members = {_render_set(account.members)},"
    yield " lines = {"
    for line in account.lines:
        yield f"  {_render_line(line)},"
    yield " } } end"


def _render_line(line: PolicyLine) -> str:
    remaining = line.remaining_unit_minutes
    fields = {
        "qos": quote_lua(line.qos),
        "gres_type": quote_lua(line.gres_type),
        "partition": quote_lua(line.partition),
        "units": f"{line.units:d}",
        "purchase_option": quote_lua(line.purchase_option),
        "offering_title": quote_lua(line.offering_title),
        "remaining_unit_minutes": "nil" if remaining is None else f"{remaining:d}",
        "hold": "nil" if line.hold is None else quote_lua(line.hold),
        "url": quote_lua(line.url),
    }
    return "{ " + ", ".join(f"{name} = {value}" for name, value in fields.items()) + " }"


def _render_set(names: Iterable[str]) -> str:
    return "{ " + ", ".join(f"[{quote_lua(name)}] = true" for name in sorted(names)) + " }"


def write_policy(policy: Policy, directory: Path) -> bool:
    """Replace the policy beside job_submit.lua and make slurmctld take it up with the next job.

    Returns whether anything but the time of writing changed; if not, nothing is written.

    slurmctld reloads the script when its mtime, in whole seconds, is later than that of the last
    load (22.05: than the mtime it had then; it may also be the time of the load). So the mtime
    grows with each write and is two seconds ahead. The policy gets the same mtime first: where
    the script's is earlier, a write was interrupted before slurmctld was told, and is completed.
    """
    path, script = directory / POLICY_FILE, directory / SCRIPT_FILE
    text = render_policy(policy)
    changed = not _has_same_content(path, text)
    if changed:
        temporary = directory / f".{POLICY_FILE}.{os.getpid()}"
        try:
            temporary.write_text(text, "ascii")
            temporary.chmod(0o644)
            ahead = max(int(time.time()) + 2, int(script.stat().st_mtime) + 1)
            os.utime(temporary, (ahead, ahead))
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    told_at = path.stat().st_mtime
    if script.stat().st_mtime < told_at:
        os.utime(script, (told_at, told_at))
    return changed


def _has_same_content(path: Path, text: str) -> bool:
    with suppress(FileNotFoundError, UnicodeDecodeError):
        return _drop_time(path.read_text("ascii")) == _drop_time(text)
    return False


def _drop_time(text: str) -> list[str]:
    return [line for line in text.splitlines() if "generated_at" not in line]
