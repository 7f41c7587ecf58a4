"""A Slurm in memory, for tests: the same refusals as the real one, and switches to break it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from portal.slurm import rules
from portal.slurm.errors import SlurmCommandError, SlurmUnavailable, SlurmValueError, WrongCluster
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


@dataclass(frozen=True, slots=True)
class SacctRow:
    """A row that the fake's sacct prints, with the time that decides about its window."""

    columns: Mapping[str, str]
    start_at: datetime
    end_at: datetime | None = None


class FakeGateway:
    """Implements SlurmGateway in memory.

    `is_away` makes every method raise SlurmUnavailable; `calls` counts methods by name;
    `answering_cluster` is the name that answers, `sacct_error` what sacct fails with at the end
    of its lines. Tests add what Slurm itself would bring: nodes, partitions, jobs, sacct rows.
    """

    def __init__(self, cluster_name: str) -> None:
        self.cluster_name = rules.check_name(cluster_name, "cluster")
        self.answering_cluster = cluster_name
        self.slurm_version = "22.05.8"
        self.is_away = False
        self.sacct_error = ""
        self.calls: Counter[str] = Counter()
        self.nodes: dict[str, Node] = {}
        self.partitions: dict[str, Partition] = {}
        self.jobs: dict[str, LiveJob] = {}
        self.sacct_rows: list[SacctRow] = []
        self._accounts: dict[str, Account] = {}
        self._users: dict[str, SlurmUser] = {
            "root": SlurmUser("root", "root", "Administrator"),
        }
        self._associations: dict[tuple[str, str], Association] = {
            ("root", "root"): Association("root", "root"),
        }
        self._qos: dict[str, Qos] = {"normal": Qos("normal", "normal qos default")}
        self._inherited_qos = frozenset({"normal"})

    def add_node(self, node: Node) -> None:
        """Put a node, or another state of it, into what list_nodes returns."""
        self.nodes[node.name] = node

    def add_partition(self, partition: Partition) -> None:
        """Put a partition into what list_partitions returns."""
        self.partitions[partition.name] = partition

    def add_job(self, job: LiveJob) -> None:
        """Put a job into what list_jobs returns; it then protects its association."""
        self.jobs[job.job_id] = job

    def end_job(self, job_id: str) -> None:
        """Take a job out of what list_jobs returns."""
        del self.jobs[job_id]

    def add_sacct_row(
        self, columns: Mapping[str, str], start_at: datetime, end_at: datetime | None = None
    ) -> None:
        """Add a row that sacct prints for every window that touches [start_at, end_at]."""
        self.sacct_rows.append(SacctRow(dict(columns), start_at, end_at))

    def get_cluster(self) -> ClusterInfo:
        self._answer("get_cluster")
        config = (
            ("ClusterName", self.answering_cluster),
            ("SLURM_VERSION", self.slurm_version),
        )
        return ClusterInfo(self.answering_cluster, self.slurm_version, config)

    def list_nodes(self) -> tuple[Node, ...]:
        self._answer("list_nodes")
        return tuple(self.nodes[name] for name in sorted(self.nodes))

    def list_partitions(self) -> tuple[Partition, ...]:
        self._answer("list_partitions")
        return tuple(self.partitions[name] for name in sorted(self.partitions))

    def list_accounts(self) -> tuple[Account, ...]:
        self._answer("list_accounts")
        return tuple(self._accounts[name] for name in sorted(self._accounts))

    def list_users(self) -> tuple[SlurmUser, ...]:
        self._answer("list_users")
        return tuple(self._users[name] for name in sorted(self._users))

    def list_associations(self) -> tuple[Association, ...]:
        self._answer("list_associations")
        found = (self._associations[pair] for pair in sorted(self._associations))
        return tuple(
            replace(row, qos=row.qos & self._qos.keys() or self._inherited_qos) for row in found
        )

    def list_qos(self) -> tuple[Qos, ...]:
        self._answer("list_qos")
        return tuple(self._qos[name] for name in sorted(self._qos))

    def read_accounting(self) -> AccountingObjects:
        return AccountingObjects(
            self.list_accounts(), self.list_users(), self.list_associations(), self.list_qos()
        )

    def list_jobs(self) -> tuple[LiveJob, ...]:
        self._answer("list_jobs")
        return tuple(self.jobs[name] for name in sorted(self.jobs))

    def save_accounts(self, accounts: Sequence[Account]) -> None:
        for account in accounts:
            rules.check_account(account)
        self._answer_write("save_accounts")
        for account in rules.order_accounts(accounts, self._get_parents()):
            if account.parent != rules.ROOT_ACCOUNT and account.parent not in self._accounts:
                raise _refuse("add account", f"Parent account '{account.parent}' doesn't exist")
            self._accounts[account.name] = self._fill_texts(account)

    def save_qos(self, qos: Sequence[Qos]) -> None:
        for wanted in qos:
            rules.check_qos(wanted)
        self._answer_write("save_qos")
        for wanted in qos:
            known = self._qos.get(wanted.name, Qos(wanted.name, wanted.name))
            text = wanted.description or known.description
            self._qos[wanted.name] = replace(wanted, description=text)

    def save_associations(self, associations: Sequence[Association]) -> None:
        for association in associations:
            rules.check_association(association)
        self._answer_write("save_associations")
        for wanted in associations:
            if wanted.account not in self._accounts and wanted.account != rules.ROOT_ACCOUNT:
                raise _refuse("add user", f"This account '{wanted.account}' doesn't exist")
            unknown = wanted.qos - self._qos.keys()
            if unknown:
                raise _refuse("add user", f"You gave a bad qos '{min(unknown)}'")
            self._associations[wanted.account, wanted.user] = wanted
            user = self._users.get(wanted.user, SlurmUser(wanted.user))
            default = user.default_account or wanted.account
            self._users[wanted.user] = replace(user, default_account=default)

    def set_default_account(self, user: str, account: str) -> None:
        user, account = clean_name(user), clean_name(account)
        rules.check_name(user, "user")
        rules.check_name(account, "account")
        self._answer_write("set_default_account")
        if (account, user) not in self._associations:
            raise _refuse("modify user", f"{user} is not associated with '{account}'")
        self._users[user] = replace(self._users[user], default_account=account)

    def delete_associations(self, pairs: Sequence[tuple[str, str]]) -> None:
        cleaned = [(clean_name(account), clean_name(user)) for account, user in pairs]
        for account, user in cleaned:
            rules.check_name(account, "account")
            rules.check_name(user, "user")
        self._answer_write("delete_associations")
        busy = rules.find_busy_pairs(cleaned, self.jobs.values())
        for account, user in cleaned:
            if (account, user) not in busy and (account, user) in self._associations:
                self._remove_association(account, user)
        if busy:
            raise rules.make_busy_error(busy)

    def delete_qos(self, names: Sequence[str]) -> None:
        cleaned = _clean_names(names, "qos")
        self._answer_write("delete_qos")
        defaults = {row.default_qos for row in self._associations.values()}
        if defaults & set(cleaned):
            raise _refuse("delete qos", "Associations have these as their Default QOS")
        for name in cleaned:
            self._qos.pop(name, None)
        for pair, row in self._associations.items():
            self._associations[pair] = replace(row, qos=row.qos - set(cleaned))

    def delete_accounts(self, names: Sequence[str]) -> None:
        cleaned = _clean_names(names, "account")
        self._answer_write("delete_accounts")
        members: dict[str, set[str]] = defaultdict(set)
        for account, user in self._associations:
            members[account].add(user)
        rules.check_account_removal(cleaned, self._get_parents(), members)
        rules.check_no_jobs(cleaned, self.jobs.values())
        for name in cleaned:
            self._accounts.pop(name, None)

    @contextmanager
    def stream_sacct(
        self, start_at: datetime, end_at: datetime, fields: Sequence[str], delimiter: str
    ) -> Iterator[Iterator[bytes]]:
        if start_at.tzinfo is None or end_at.tzinfo is None:
            raise SlurmValueError("sacct is asked for aware instants only")
        self._answer("stream_sacct")
        yield self._print_rows(start_at, end_at, fields, delimiter)

    def _print_rows(
        self, start_at: datetime, end_at: datetime, fields: Sequence[str], delimiter: str
    ) -> Iterator[bytes]:
        yield f"{delimiter.join(fields)}\n".encode()
        for row in self.sacct_rows:
            if row.start_at < end_at and (row.end_at is None or row.end_at >= start_at):
                values = delimiter.join(row.columns.get(field, "") for field in fields)
                yield f"{values}\n".encode("utf-8", "surrogateescape")
        if self.sacct_error:
            raise SlurmCommandError(("sacct",), 1, "", self.sacct_error)

    def _answer(self, method: str) -> None:
        self.calls[method] += 1
        if self.is_away:
            raise SlurmUnavailable(f"{self.cluster_name} does not answer")

    def _answer_write(self, method: str) -> None:
        self._answer(method)
        if self.answering_cluster != self.cluster_name:
            raise WrongCluster(f"{self.answering_cluster} answers, not {self.cluster_name}")

    def _get_parents(self) -> dict[str, str]:
        return {name: account.parent for name, account in self._accounts.items()}

    def _fill_texts(self, account: Account) -> Account:
        """Return the account with the texts that Slurm keeps or makes up for empty ones."""
        known = self._accounts.get(account.name, Account(account.name, account.parent))
        return replace(
            account,
            description=account.description or known.description or account.name,
            organization=account.organization or known.organization or _get_org(account),
        )

    def _remove_association(self, account: str, user: str) -> None:
        del self._associations[account, user]
        if not any(name == user for _, name in self._associations):
            del self._users[user]
        elif self._users[user].default_account == account:
            self._users[user] = replace(self._users[user], default_account="")


def _get_org(account: Account) -> str:
    return account.name if account.parent == rules.ROOT_ACCOUNT else account.parent


def _clean_names(names: Iterable[str], kind: str) -> list[str]:
    return [rules.check_name(name, kind) for name in dict.fromkeys(map(clean_name, names))]


def _refuse(command: str, reason: str) -> SlurmCommandError:
    return SlurmCommandError(("fake", *command.split()), 1, reason, "")
