"""The one port to Slurm: what every backend offers, in values."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

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
)


class SlurmGateway(Protocol):
    """Reads Slurm's state and writes its accounting objects.

    Every method raises SlurmUnavailable when a daemon does not answer, SlurmCommandError when
    Slurm refuses, SlurmParseError when an answer cannot be read. The list_ methods return
    everything of this cluster, sorted by name. The save_ methods create what is absent and
    change what differs, and may be run again; the delete_ methods succeed when there is nothing
    to delete. Writes raise SlurmValueError on a name that could be read as anything else,
    WrongCluster where another cluster answers, SlurmGuardError where Slurm would do more than
    was asked. A call that writes several objects may fail half-way: run it again.
    """

    def get_cluster(self) -> ClusterInfo: ...

    def list_nodes(self) -> tuple[Node, ...]: ...

    def list_partitions(self) -> tuple[Partition, ...]: ...

    def list_accounts(self) -> tuple[Account, ...]:
        """Return the accounts of this cluster; the root, which is Slurm's, is left out."""
        ...

    def list_users(self) -> tuple[SlurmUser, ...]:
        """Return every user of the database, with the default account on this cluster."""
        ...

    def list_associations(self) -> tuple[Association, ...]:
        """Return user associations (those with a user), without partition-specific ones."""
        ...

    def list_qos(self) -> tuple[Qos, ...]:
        """Return every QOS of the database: clusters that share one share them."""
        ...

    def read_accounting(self) -> AccountingObjects:
        """Return what the four lists above return, read side by side: as quick as the slowest."""
        ...

    def list_jobs(self) -> tuple[LiveJob, ...]:
        """Return jobs that wait, run or are suspended; a waiting array is one row."""
        ...

    def save_accounts(self, accounts: Sequence[Account]) -> None:
        """Create, move or describe accounts, parents first whatever the order given."""
        ...

    def save_qos(self, qos: Sequence[Qos]) -> None: ...

    def save_associations(self, associations: Sequence[Association]) -> None:
        """Create or change associations with their QOS list and default QOS.

        A user that Slurm does not know is created with this account as the default account.
        """
        ...

    def set_default_account(self, user: str, account: str) -> None: ...

    def delete_associations(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Remove (account, user) associations.

        Those with active jobs stay, the others go; then SlurmGuardError or SlurmCommandError is
        raised. A user whose last association goes is removed by Slurm; one whose default account
        goes is left without any, so change that first.
        """
        ...

    def delete_qos(self, names: Sequence[str]) -> None:
        """Remove QOS; Slurm refuses all of them while one is some association's default.

        An association whose whole QOS list goes inherits its account's list again (often
        "normal"): remove or change the association first.
        """
        ...

    def delete_accounts(self, names: Sequence[str]) -> None:
        """Remove accounts; SlurmGuardError if any has other accounts, members or jobs left."""
        ...

    def stream_sacct(
        self, start_at: datetime, end_at: datetime, fields: Sequence[str], delimiter: str
    ) -> AbstractContextManager[Iterator[bytes]]:
        """Stream the raw lines of `TZ=UTC sacct -a -X -D -P --noconvert`, header line first.

        Each line keeps its newline. Rows are those that were eligible before end_at and had not
        ended before start_at, both aware; sacct knows whole seconds.

        Leaving the context early ends sacct. An error of sacct is raised when the lines end, so
        that a truncated answer is never taken for a whole one.
        """
        ...
