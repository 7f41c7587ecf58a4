"""What every backend checks before it writes: names, limits, trees. Pure functions."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from portal.slurm.errors import SlurmGuardError, SlurmValueError
from portal.slurm.values import Account, Association, LiveJob, Qos, TresCounts, clean_name

ROOT_ACCOUNT = "root"
_NAME = re.compile(r"[a-z0-9_][a-z0-9_.-]{0,63}")
_USER = re.compile(r"[a-z0-9_][a-z0-9_.@-]{0,63}")
_FLAG = re.compile(r"[A-Za-z][A-Za-z0-9]{0,63}")
_TRES = re.compile(r"[a-z][a-z0-9_]*(/[a-z0-9_.]+(:[A-Za-z0-9_.]+)?)?")
_LIMIT_MAX = 2**62


def check_name(name: str, kind: str) -> str:
    """Return the name; raise SlurmValueError if it could be read as anything but a name.

    Allowed: letters in lower case, digits, "_", ".", "-" (and "@" in a user), at most 64, the
    first a letter, digit or "_". `kind` is "account", "user" or "qos".
    """
    pattern = _USER if kind == "user" else _NAME
    if not pattern.fullmatch(name):
        raise SlurmValueError(f"{name!r} is not a name that Slurm may be given for a {kind}")
    return name


def check_account(account: Account) -> None:
    """Raise SlurmValueError for an account with a bad name, and for the root of the tree."""
    check_name(account.name, "account")
    check_name(account.parent, "account")
    if account.name == ROOT_ACCOUNT:
        raise SlurmGuardError("the root account belongs to Slurm and is not changed")


def check_association(association: Association) -> None:
    """Raise SlurmValueError for bad names or a default QOS outside the list.

    `sacctmgr add user` stores such an association without complaint, and `sacctmgr modify user`
    refuses it with exit code 0 (22.05), so that the check must be ours.
    """
    check_name(association.account, "account")
    check_name(association.user, "user")
    for name in sorted(association.qos):
        check_name(name, "qos")
    if association.default_qos and association.default_qos not in association.qos:
        raise SlurmValueError(
            f"default QOS {association.default_qos!r} of {association.user} in "
            f"{association.account} is not in its QOS list"
        )


def check_qos(qos: Qos) -> None:
    """Raise SlurmValueError for a QOS with a bad name, flag, TRES name or limit."""
    check_name(qos.name, "qos")
    for flag in sorted(qos.flags):
        if not _FLAG.fullmatch(flag):
            raise SlurmValueError(f"{flag!r} is not a QOS flag")
    for counts in (qos.grp_tres, qos.grp_tres_mins, qos.max_tres_per_user):
        check_tres(counts)
    limits = (qos.max_wall_minutes, qos.max_submit_jobs_per_user, qos.grp_submit_jobs)
    for limit in (qos.priority, *limits):
        if limit is not None:
            _check_limit(limit, qos.name)


def check_tres(counts: TresCounts) -> None:
    """Raise SlurmValueError for a TRES name that sacctmgr cannot take, or a negative count.

    "-" and "+" in a GRES type break sacctmgr's TRES strings before 25.11.6.
    """
    for name, count in counts:
        if not _TRES.fullmatch(name):
            raise SlurmValueError(f"{name!r} is not a TRES name that Slurm may be given")
        _check_limit(count, name)


def order_accounts(accounts: Sequence[Account], parents: Mapping[str, str]) -> list[Account]:
    """Return the accounts with parents before children, else in the order given.

    `parents` maps the cluster's accounts to their parents now. Raises SlurmGuardError when the
    accounts would form a circle: Slurm (22.05) accepts a move below an own child and rebuilds
    the tree in a way nobody asked for.
    """
    wanted = {account.name: account for account in accounts}
    tree = {**parents, **{name: account.parent for name, account in wanted.items()}}
    ordered: list[Account] = []
    placed: set[str] = set()
    for account in wanted.values():
        path = _path_to_root(account.name, tree)
        for name in reversed(path):
            if name in wanted and name not in placed:
                placed.add(name)
                ordered.append(wanted[name])
    return ordered


def check_account_removal(
    names: Collection[str], parents: Mapping[str, str], members: Mapping[str, Collection[str]]
) -> None:
    """Raise SlurmGuardError when more than the named accounts would go.

    That is: the root, an account with a child that is not named, or one with associations left.
    """
    if ROOT_ACCOUNT in names:
        raise SlurmGuardError("the root account belongs to Slurm and is not removed")
    for child, parent in sorted(parents.items()):
        if parent in names and child not in names:
            raise SlurmGuardError(f"account {parent} still has the account {child} below it")
    for name in sorted(names):
        users = sorted(members.get(name, ()))
        if users:
            raise SlurmGuardError(f"account {name} still has associations: {', '.join(users[:5])}")


def find_busy_pairs(
    pairs: Iterable[tuple[str, str]], jobs: Iterable[LiveJob]
) -> dict[tuple[str, str], str]:
    """Return those (account, user) pairs that have live jobs, each with one of its job ids."""
    wanted = set(pairs)
    found = {(clean_name(job.account), clean_name(job.user)): job.job_id for job in jobs}
    return {pair: job_id for pair, job_id in found.items() if pair in wanted}


def check_no_jobs(names: Collection[str], jobs: Iterable[LiveJob]) -> None:
    """Raise SlurmGuardError when a live job belongs to one of the accounts."""
    for job in jobs:
        if clean_name(job.account) in names:
            raise SlurmGuardError(f"account {job.account} has job {job.job_id} of {job.user}")


def make_busy_error(busy: Mapping[tuple[str, str], str]) -> SlurmGuardError:
    """Return the error for associations that stay because their jobs are active."""
    kept = [f"{user} in {account} (job {job_id})" for (account, user), job_id in busy.items()]
    return SlurmGuardError(f"jobs are active: {', '.join(sorted(kept)[:5])}")


def _path_to_root(name: str, tree: Mapping[str, str]) -> list[str]:
    path: list[str] = []
    while name and name != ROOT_ACCOUNT:
        if name in path:
            raise SlurmGuardError(f"accounts {', '.join(path)} would be below themselves")
        path.append(name)
        name = tree.get(name, "")
    return path


def _check_limit(limit: int, name: str) -> None:
    if isinstance(limit, bool) or not isinstance(limit, int) or not 0 <= limit < _LIMIT_MAX:
        raise SlurmValueError(f"{limit!r} is not a limit that Slurm can hold for {name}")
