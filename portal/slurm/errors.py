"""The gateway's errors: one root, and each carries its evidence."""

from collections.abc import Sequence


class SlurmError(Exception):
    """Root of everything that the gateway raises."""


class SlurmUnavailable(SlurmError):
    """A daemon (slurmctld or slurmdbd) does not answer: the caller waits and tries again."""


class SlurmCommandError(SlurmError):
    """A Slurm command ended with an error.

    Carries the argv, the exit code (None when it could not be started or timed out) and both
    outputs, so that a person can run the same command again.
    """

    def __init__(
        self, argv: Sequence[str], exit_code: int | None, stdout: str = "", stderr: str = ""
    ) -> None:
        self.argv = tuple(argv)
        self.exit_code = exit_code
        self.stdout = stdout
        self.stderr = stderr
        words = " ".join(f"{stderr} {stdout}".split())
        shown = f"{words[:297]}..." if len(words) > 300 else words or "no output"
        super().__init__(f"{' '.join(self.argv[:4])} ... ended with {exit_code}: {shown}")


class SlurmCommandUnavailable(SlurmUnavailable, SlurmCommandError):
    """A command that failed because a daemon is away or the command timed out."""


class SlurmParseError(SlurmError):
    """Slurm printed something that this version of the gateway cannot read."""


class WrongCluster(SlurmError):
    """The Slurm that answers is not the one that the cluster's record names."""


class SlurmValueError(SlurmError, ValueError):
    """A name or limit that must not reach a command line; nothing was run."""


class SlurmGuardError(SlurmError):
    """A change that Slurm would carry out with more effect than was asked.

    slurmdbd learns of a job seconds after slurmctld: until then sacctmgr removes the
    association that a job runs or waits under. So squeue is asked before a removal.
    sacctmgr (seen on 22.05) deletes an account together with all accounts and associations
    below it, and moves an account below its own child by turning the tree round.
    """
