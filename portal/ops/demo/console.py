"""What the demo prints: a line for each step with its checks and time, and how a step failed."""

import os
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from portal.sandbox.errors import SandboxError

STEP_VARIABLE = "SLUICEWAY_DEMO_STEP"
START_VARIABLE = "SLUICEWAY_DEMO_START"


class DemoError(Exception):
    """A step that cannot go on: the reason, and where known the log and the next thing to do."""

    def __init__(self, reason: str, *, log_path: Path | None = None, next_step: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.log_path = log_path
        self.next_step = next_step


class StepFailed(Exception):
    """A failed step that the console has already told about; `exit_code` is never 0."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


class Step:
    """The step that runs: collects what was checked, and lines to show below."""

    def __init__(self) -> None:
        self.checks: list[str] = []
        self.lines: list[str] = []

    def check(self, text: str) -> None:
        """Add a thing that was done or found to be so."""
        self.checks.append(text)

    def show(self, text: str) -> None:
        """Add lines that are printed below the step's own."""
        self.lines.extend(text.splitlines())


class Console:
    """Prints steps, and keeps a copy in the log file.

    The number of the step and the start of the run live in the environment, because the run goes
    on in another program once .venv is there.
    """

    def __init__(self, log_file: Path, command: str = "make demo") -> None:
        self.log_file = log_file
        self.command = command
        self.is_logging = True
        os.environ.setdefault(START_VARIABLE, repr(time.monotonic()))

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - float(os.environ[START_VARIABLE])

    def say(self, text: str = "", *, is_logged: bool = True) -> None:
        """Print a line; a password's line is not logged."""
        self._write(text + "\n", is_logged=is_logged)

    def log(self, text: str) -> None:
        """Put a line into the log file alone."""
        if not self.is_logging:
            return
        try:
            self.log_file.parent.mkdir(parents=True, exist_ok=True)
            with self.log_file.open("a", encoding="utf-8") as log:
                log.write(text + "\n")
        except OSError as error:
            print(f"(no log: {error})", file=sys.stderr)

    @contextmanager
    def step(self, title: str) -> Iterator[Step]:
        """Run a step: print its title, then what was checked and its time; StepFailed otherwise."""
        number = int(os.environ.get(STEP_VARIABLE, "0")) + 1
        os.environ[STEP_VARIABLE] = str(number)
        begun = time.monotonic()
        self._write(f"{number:2d} {title}: ", is_logged=False)
        self.log(f"{time.strftime('%H:%M:%S')} step {number}: {title}")
        step = Step()
        try:
            yield step
        except KeyboardInterrupt:
            self._tell_interrupted(title)
            raise StepFailed(130) from None
        except Exception as error:
            self._tell_failure(title, step, error)
            raise StepFailed(1) from error
        self.say(f"{'; '.join(step.checks) or 'done'} [{time.monotonic() - begun:.1f} s]")
        for line in step.lines:
            self.say(f"     {line}")

    def _tell_interrupted(self, title: str) -> None:
        self.say(f"\n\nInterrupted in the step “{title}”.")
        self.say(f"  next: {self.command} takes it up again; make stop ends what runs")

    def _tell_failure(self, title: str, step: Step, error: Exception) -> None:
        self.log("".join(traceback.format_exception(error)))
        reason, log_path = str(error), self.log_file
        next_step = ""
        if isinstance(error, DemoError):
            log_path, next_step = error.log_path or log_path, error.next_step
        elif isinstance(error, SandboxError):
            reason, next_step = f"{error.step}: {error.reason}", error.next_step
            log_path = error.log_path or log_path
        else:
            reason = f"{type(error).__name__}: {error}"
        self.say("FAILED")
        for line in (*step.checks, *step.lines):
            self.say(f"     {line}")
        self.say(f"\n{self.command} failed in the step “{title}”.")
        self.say(f"  reason: {reason}")
        self.say(f"  log:    {log_path}")
        self.say(f"  next:   {next_step or f'read the log, then run {self.command} again'}")

    def _write(self, text: str, *, is_logged: bool = True) -> None:
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError:
            # The reader is gone (make demo | head); the log still gets every line.
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        if is_logged:
            self.log(text.rstrip("\n"))
