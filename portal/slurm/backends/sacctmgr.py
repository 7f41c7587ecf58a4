"""What sacctmgr is told and how its answer is judged; sacctmgr's oddities live here.

Seen on 22.05.8: exit code 1 with "Nothing new added." or "Nothing deleted" and no other word is
no failure; a refusal may come with exit code 0 (a default QOS outside the list), so that a
change counts only when sacctmgr says "Modified"; an unset limit is written -1; a TRES list that
is set keeps the entries it does not name; Flags= replaces all flags and -1 clears them; an empty
text is an "Unspecified error"; names after "name=" are never read as keywords.
"""

from collections.abc import Iterable, Mapping, Sequence
from subprocess import CompletedProcess

from portal.slurm.backends.command import SlurmCommands, make_command_error
from portal.slurm.errors import SlurmCommandError
from portal.slurm.values import Account, Association, Qos, TresCounts

# The longest list of names in one command: well below Linux's 128 KiB for one argument.
NAMES_PER_COMMAND = 500


class Sacctmgr:
    """Writes through `sacctmgr -i`, one command per call, on one cluster."""

    def __init__(self, commands: SlurmCommands, cluster_name: str) -> None:
        self._commands = commands
        self._cluster = f"cluster={cluster_name}"

    def list_rows(self, entity: str, *arguments: str) -> str:
        """Return the output of `sacctmgr -n -P list ENTITY ...`."""
        return self._commands.run("sacctmgr", "-n", "-P", "list", entity, *arguments)

    def add_account(self, account: Account) -> None:
        """Create the account or, where its name is known elsewhere, its place on this cluster."""
        self._add(
            "account",
            f"name={account.name}",
            self._cluster,
            f"parent={account.parent}",
            *make_text_settings(account.description, account.organization),
        )

    def move_account(self, name: str, parent: str) -> None:
        """Hang the account below another one, with all that is below it."""
        self._modify("account", [f"name={name}", self._cluster], [f"parent={parent}"])

    def describe_account(self, name: str, description: str, organization: str) -> None:
        """Set the texts that are not empty; they hold on every cluster of the database."""
        self._modify("account", [f"name={name}"], make_text_settings(description, organization))

    def add_qos(self, qos: Qos) -> None:
        """Create the QOS with all its limits."""
        self._add("qos", f"name={qos.name}", *make_qos_settings(qos, Qos(qos.name)))

    def change_qos(self, wanted: Qos, observed: Qos) -> None:
        """Change what differs, and nothing else."""
        settings = make_qos_settings(wanted, observed)
        if settings:
            self._modify("qos", [f"name={wanted.name}"], settings)

    def add_users(self, users: Sequence[str], like: Association, is_new: bool) -> None:
        """Create associations of several users that are alike but for the user.

        Users whom Slurm does not know get the account as their default account.
        """
        settings = [f"account={like.account}", self._cluster]
        if is_new:
            settings.append(f"defaultaccount={like.account}")
        if like.qos:
            settings.append(f"qoslevel={join_names(like.qos)}")
        if like.default_qos:
            settings.append(f"defaultqos={like.default_qos}")
        self._add("user", f"name={join_names(users)}", *settings)

    def change_users(self, users: Sequence[str], like: Association) -> None:
        """Set the QOS list and the default QOS together: apart, Slurm refuses one of them."""
        self._modify(
            "user",
            self._where_users(like.account, users),
            [f"qoslevel={join_names(like.qos)}", f"defaultqos={like.default_qos or '-1'}"],
        )

    def set_default_account(self, user: str, account: str) -> None:
        """Make the account the user's default on this cluster."""
        self._modify("user", [f"name={user}", self._cluster], [f"defaultaccount={account}"])

    def delete_users(self, account: str, users: Sequence[str]) -> None:
        """Remove the users' associations with one account, all or none."""
        self._delete("user", *self._where_users(account, users))

    def delete_accounts(self, names: Sequence[str]) -> None:
        """Remove the accounts from this cluster, all or none, and what is below them."""
        self._delete("account", f"name={join_names(names)}", self._cluster)

    def delete_qos(self, names: Sequence[str]) -> None:
        """Remove the QOS, all or none."""
        self._delete("qos", f"name={join_names(names)}")

    def _where_users(self, account: str, users: Sequence[str]) -> tuple[str, ...]:
        """Return the condition; without `partition=` associations of a partition are hit too."""
        return f"name={join_names(users)}", f"account={account}", self._cluster, "partition="

    def _add(self, entity: str, *settings: str) -> None:
        done = self._run("add", entity, *settings)
        if done.returncode != 0 and not _says_only(done, "Nothing new added"):
            raise _make_error(done)

    def _modify(self, entity: str, where: Sequence[str], settings: Sequence[str]) -> None:
        done = self._run("modify", entity, "where", *where, "set", *settings)
        if done.returncode != 0 or " Modified " not in done.stdout:
            raise _make_error(done)

    def _delete(self, entity: str, *where: str) -> None:
        done = self._run("delete", entity, "where", *where)
        if done.returncode != 0 and not _says_only(done, "Nothing deleted"):
            raise _make_error(done)

    def _run(self, *arguments: str) -> "CompletedProcess[str]":
        return self._commands.run_unchecked("sacctmgr", "-i", *arguments)


def make_text_settings(description: str, organization: str) -> list[str]:
    """Return the settings for the texts that are not empty."""
    settings = {"description": description, "organization": organization}
    return [f"{key}={text}" for key, text in settings.items() if text]


def make_qos_settings(wanted: Qos, observed: Qos) -> list[str]:
    """Return the settings that turn the observed QOS into the wanted one, in a fixed order."""
    settings: list[str] = []
    if wanted.description and wanted.description != observed.description:
        settings.append(f"description={wanted.description}")
    if wanted.priority != observed.priority:
        settings.append(f"priority={wanted.priority}")
    if wanted.flags != observed.flags:
        settings.append(f"flags={join_names(wanted.flags) or '-1'}")
    tres = {
        "grptres": (wanted.grp_tres, observed.grp_tres),
        "grptresmins": (wanted.grp_tres_mins, observed.grp_tres_mins),
        "maxtresperuser": (wanted.max_tres_per_user, observed.max_tres_per_user),
    }
    for key, (new, old) in tres.items():
        if new != old:
            settings.append(f"{key}={make_tres_change(new, old)}")
    limits = {
        "maxwall": (wanted.max_wall_minutes, observed.max_wall_minutes),
        "maxsubmitjobsperuser": (
            wanted.max_submit_jobs_per_user,
            observed.max_submit_jobs_per_user,
        ),
        "grpsubmitjobs": (wanted.grp_submit_jobs, observed.grp_submit_jobs),
    }
    for key, (limit, previous) in limits.items():
        if limit != previous:
            settings.append(f"{key}={-1 if limit is None else limit}")
    return settings


def make_tres_change(wanted: TresCounts, observed: TresCounts) -> str:
    """Return the TRES list to set: what is wanted, and -1 for each entry no longer wanted."""
    counts: Mapping[str, int] = {**{name: -1 for name, _ in observed}, **dict(wanted)}
    return ",".join(f"{name}={count}" for name, count in sorted(counts.items()))


def join_names(names: Iterable[str]) -> str:
    """Return the names as one argument, in a stable order."""
    return ",".join(sorted(names))


def _says_only(done: "CompletedProcess[str]", words: str) -> bool:
    """Return whether nothing else was printed: reasons for a refusal stand beside these words."""
    return f"{done.stdout}{done.stderr}".strip().rstrip(".") == words


def _make_error(done: "CompletedProcess[str]") -> SlurmCommandError:
    return make_command_error(done.args, done.returncode, done.stdout, done.stderr)
