"""The gateway on Slurm's own programs: sacctmgr, scontrol, squeue and sacct (22.05 to 26.05)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from portal.slurm import rules
from portal.slurm.backends import cli_parse
from portal.slurm.backends.command import SlurmCommands
from portal.slurm.backends.sacctmgr import NAMES_PER_COMMAND, Sacctmgr
from portal.slurm.errors import (
    SlurmCommandError,
    SlurmError,
    SlurmUnavailable,
    SlurmValueError,
    WrongCluster,
)
from portal.slurm.values import (
    Account,
    AccountingObjects,
    Association,
    ClusterInfo,
    LiveJob,
    Node,
    Partition,
    Qos,
    SlurmUser,
    clean_name,
)

_Item = TypeVar("_Item")


class CliGateway:
    """Speaks to the Slurm that one slurm.conf names; see SlurmGateway for the methods.

    Before its first write it asks the controller and slurmdbd whether they are `cluster_name`.
    """

    def __init__(
        self,
        cluster_name: str,
        slurm_conf: Path,
        bin_dir: Path | None = None,
        timeout_seconds: float = 30,
    ) -> None:
        self._cluster_name = rules.check_name(cluster_name, "cluster")
        self._commands = SlurmCommands(slurm_conf, bin_dir, timeout_seconds)
        self._sacctmgr = Sacctmgr(self._commands, cluster_name)
        self._is_right_cluster = False

    def get_cluster(self) -> ClusterInfo:
        """Return the name, version and configuration of the controller that answers."""
        return cli_parse.parse_cluster(self._commands.run("scontrol", "show", "config"))

    def list_nodes(self) -> tuple[Node, ...]:
        """Return all nodes, hidden partitions' too."""
        arguments = ("--all", "--oneliner", "--details", "show", "nodes")
        return cli_parse.parse_nodes(self._commands.run("scontrol", *arguments))

    def list_partitions(self) -> tuple[Partition, ...]:
        """Return all partitions, hidden ones too, with the names of their nodes."""
        nodes = self.list_nodes()
        text = self._commands.run("scontrol", "--all", "--oneliner", "show", "partitions")
        return cli_parse.parse_partitions(text, nodes)

    def list_accounts(self) -> tuple[Account, ...]:
        """Return the accounts that this cluster has, the root left out."""
        with ThreadPoolExecutor() as pool:
            texts = pool.submit(self._list_account_texts)
            rows = pool.submit(self._list_association_rows)
        return _make_accounts(rows.result(), texts.result())

    def list_users(self) -> tuple[SlurmUser, ...]:
        """Return all users of the database with their default account here."""
        return cli_parse.parse_users(self._sacctmgr.list_rows("user", cli_parse.USER_FORMAT))

    def list_associations(self) -> tuple[Association, ...]:
        """Return this cluster's user associations, by account and user."""
        return cli_parse.parse_associations(self._list_association_rows())

    def list_qos(self) -> tuple[Qos, ...]:
        """Return all QOS; they belong to the database, not to one cluster."""
        return cli_parse.parse_qos(self._sacctmgr.list_rows("qos", cli_parse.QOS_FORMAT))

    def read_accounting(self) -> AccountingObjects:
        """Return accounts, users, associations and QOS: four commands at once.

        sacctmgr waits on slurmdbd for most of its 0.2 to 0.4 s (22.05).
        """
        with ThreadPoolExecutor() as pool:
            texts = pool.submit(self._list_account_texts)
            rows = pool.submit(self._list_association_rows)
            users = pool.submit(self.list_users)
            qos = pool.submit(self.list_qos)
        return AccountingObjects(
            accounts=_make_accounts(rows.result(), texts.result()),
            users=users.result(),
            associations=cli_parse.parse_associations(rows.result()),
            qos=qos.result(),
        )

    def list_jobs(self) -> tuple[LiveJob, ...]:
        """Return running, pending and suspended jobs; a pending array is one row."""
        arguments = ("--local", "--all", "--noheader", f"--format={cli_parse.JOB_FORMAT}")
        return cli_parse.parse_jobs(self._commands.run("squeue", *arguments))

    def save_accounts(self, accounts: Sequence[Account]) -> None:
        """Create, move or describe accounts; raises SlurmGuardError on a circle."""
        for account in accounts:
            rules.check_account(account)
        if not accounts:
            return
        self._check_cluster()
        with ThreadPoolExecutor() as pool:
            read_rows = pool.submit(self._list_association_rows)
            read_texts = pool.submit(self._list_account_texts)
        parents, texts = _get_parents(read_rows.result()), read_texts.result()
        for account in rules.order_accounts(accounts, parents):
            if account.name not in parents:
                self._sacctmgr.add_account(account)
            elif account.parent != parents[account.name]:
                self._sacctmgr.move_account(account.name, account.parent)
            if account.name in texts:
                self._save_texts(account, *texts[account.name])

    def save_qos(self, qos: Sequence[Qos]) -> None:
        """Create QOS and change limits that differ; limits shrink without ending jobs."""
        for wanted in qos:
            rules.check_qos(wanted)
        if not qos:
            return
        self._check_cluster()
        observed = {found.name: found for found in self.list_qos()}
        for wanted in qos:
            if wanted.name in observed:
                self._sacctmgr.change_qos(wanted, observed[wanted.name])
            else:
                self._sacctmgr.add_qos(wanted)

    def save_associations(self, associations: Sequence[Association]) -> None:
        """Create or change associations, those that are alike in one command."""
        for association in associations:
            rules.check_association(association)
        if not associations:
            return
        self._check_cluster()
        with ThreadPoolExecutor() as pool:
            read_rows = pool.submit(self._list_association_rows)
            read_users = pool.submit(self.list_users)
        rows = [row for row in read_rows.result() if not row.partition]
        observed = {(row.account, row.user): row for row in rows}
        known = {user.name for user in read_users.result()}
        added: dict[tuple[Association, bool], list[str]] = defaultdict(list)
        changed: dict[Association, list[str]] = defaultdict(list)
        for wanted in associations:
            like = Association(wanted.account, "", wanted.qos, wanted.default_qos)
            row = observed.get((wanted.account, wanted.user))
            if row is None:
                added[like, wanted.user not in known].append(wanted.user)
                known.add(wanted.user)
            elif not _is_as_wanted(row, wanted, observed.get((wanted.account, ""))):
                changed[like].append(wanted.user)
        for (like, is_new), users in added.items():
            for part in _split(users):
                self._sacctmgr.add_users(part, like, is_new)
        for like, users in changed.items():
            for part in _split(users):
                self._sacctmgr.change_users(part, like)

    def set_default_account(self, user: str, account: str) -> None:
        """Make the account the user's default; Slurm refuses one without an association."""
        user, account = clean_name(user), clean_name(account)
        rules.check_name(user, "user")
        rules.check_name(account, "account")
        self._check_cluster()
        self._sacctmgr.set_default_account(user, account)

    def delete_associations(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Remove (account, user) associations; those with active jobs stay, the others go.

        Raises SlurmGuardError (jobs in squeue) or SlurmCommandError (refused) at the end.
        """
        users_by_account: dict[str, list[str]] = defaultdict(list)
        for account, user in dict.fromkeys((clean_name(a), clean_name(u)) for a, u in pairs):
            rules.check_name(account, "account")
            users_by_account[account].append(rules.check_name(user, "user"))
        if not users_by_account:
            return
        self._check_cluster()
        pairs = [(account, user) for account, users in users_by_account.items() for user in users]
        busy = rules.find_busy_pairs(pairs, self.list_jobs())
        refusals: list[SlurmError] = [rules.make_busy_error(busy)] if busy else []
        for account, users in users_by_account.items():
            for part in _split([user for user in users if (account, user) not in busy]):
                refusals.extend(self._delete_users(account, part))
        if refusals:
            raise refusals[0]

    def delete_qos(self, names: Sequence[str]) -> None:
        """Remove QOS; Slurm refuses all of them while one is somebody's default."""
        cleaned = _clean_names(names, "qos")
        if cleaned:
            self._check_cluster()
        for part in _split(cleaned):
            self._sacctmgr.delete_qos(part)

    def delete_accounts(self, names: Sequence[str]) -> None:
        """Remove accounts that have nothing below them but accounts that go as well."""
        cleaned = _clean_names(names, "account")
        if not cleaned:
            return
        self._check_cluster()
        rows = self._list_association_rows()
        parents = _get_parents(rows)
        members: dict[str, set[str]] = defaultdict(set)
        for row in rows:
            if row.user:
                members[row.account].add(row.user)
        rules.check_account_removal(cleaned, parents, members)
        rules.check_no_jobs(cleaned, self.list_jobs())
        present = [name for name in cleaned if name in parents]
        for part in _split(
            rules.order_accounts([Account(n, parents[n]) for n in present], parents)
        ):
            self._sacctmgr.delete_accounts([account.name for account in reversed(part)])

    def stream_sacct(
        self, start_at: datetime, end_at: datetime, fields: Sequence[str], delimiter: str
    ) -> AbstractContextManager[Iterator[bytes]]:
        """Stream sacct's raw lines for [start_at, end_at), each with its newline."""
        return self._commands.stream(
            "sacct",
            *("--allusers", "--allocations", "--duplicates", "--parsable2", "--noconvert"),
            f"--starttime={_format_instant(start_at)}",
            f"--endtime={_format_instant(_round_up(end_at))}",
            f"--format={','.join(_check_fields(fields))}",
            f"--delimiter={delimiter}",
        )

    def _delete_users(self, account: str, users: Sequence[str]) -> list[SlurmCommandError]:
        """Remove the users together and, where Slurm refuses, one by one; return the refusals."""
        try:
            self._sacctmgr.delete_users(account, users)
        except SlurmUnavailable:
            raise
        except SlurmCommandError as refusal:
            if len(users) == 1:
                return [refusal]
            return [error for user in users for error in self._delete_users(account, [user])]
        return []

    def _save_texts(self, account: Account, organization: str, description: str) -> None:
        now = Account(account.name, account.parent, description, organization)
        changed = {
            "description": account.description if account.description != now.description else "",
            "organization": (
                account.organization if account.organization != now.organization else ""
            ),
        }
        if any(changed.values()):
            self._sacctmgr.describe_account(account.name, **changed)

    def _list_account_texts(self) -> dict[str, tuple[str, str]]:
        text = self._sacctmgr.list_rows("account", cli_parse.ACCOUNT_FORMAT)
        return cli_parse.parse_account_texts(text)

    def _list_association_rows(self) -> list[cli_parse.AssociationRow]:
        """Return all associations here; a database without this cluster prints none at all."""
        text = self._sacctmgr.list_rows(
            "associations", "where", f"cluster={self._cluster_name}", cli_parse.ASSOCIATION_FORMAT
        )
        rows = cli_parse.parse_association_rows(text)
        if not any(row.account == rules.ROOT_ACCOUNT and not row.user for row in rows):
            raise WrongCluster(f"slurmdbd knows no cluster {self._cluster_name}")
        return rows

    def _check_cluster(self) -> None:
        if self._is_right_cluster:
            return
        answered = self.get_cluster().cluster_name
        if clean_name(answered) != self._cluster_name:
            raise WrongCluster(f"{answered} answers, not {self._cluster_name}: nothing is written")
        self._is_right_cluster = True


def _make_accounts(
    rows: Iterable[cli_parse.AssociationRow], texts: Mapping[str, tuple[str, str]]
) -> tuple[Account, ...]:
    """Return the accounts that have a place in the tree, with their texts, sorted by name."""
    accounts = []
    for name, parent in sorted(_get_parents(rows).items()):
        organization, description = texts.get(name, ("", ""))
        accounts.append(Account(name, parent, description, organization))
    return tuple(accounts)


def _get_parents(rows: Iterable[cli_parse.AssociationRow]) -> dict[str, str]:
    return {row.account: row.parent for row in rows if not row.user and row.parent}


def _is_as_wanted(
    row: cli_parse.AssociationRow, wanted: Association, account: cli_parse.AssociationRow | None
) -> bool:
    """Return whether the association holds; an empty wanted list means the account's own."""
    inherited = account.qos if account else frozenset()
    return row.qos == (wanted.qos or inherited) and row.default_qos == wanted.default_qos


def _clean_names(names: Iterable[str], kind: str) -> list[str]:
    return [rules.check_name(name, kind) for name in dict.fromkeys(map(clean_name, names))]


def _split(items: Sequence[_Item]) -> Iterator[Sequence[_Item]]:
    for start in range(0, len(items), NAMES_PER_COMMAND):
        yield items[start : start + NAMES_PER_COMMAND]


def _check_fields(fields: Sequence[str]) -> Sequence[str]:
    for field in fields:
        if not field.isalnum():
            raise SlurmValueError(f"{field!r} is not a field of sacct")
    return fields


def _round_up(instant: datetime) -> datetime:
    return instant + timedelta(microseconds=-instant.microsecond % 1_000_000)


def _format_instant(instant: datetime) -> str:
    """Return an aware instant as sacct reads it under TZ=UTC."""
    if instant.tzinfo is None:
        raise SlurmValueError("sacct is asked for aware instants only")
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")
