"""The one error of the sandbox: a step that failed, why, where its log is, and what to do next."""

from pathlib import Path


class SandboxError(Exception):
    """A failed step. `str()` is the whole message for a person, several lines long."""

    def __init__(
        self, step: str, reason: str, log_path: Path | None = None, next_step: str = ""
    ) -> None:
        super().__init__(step, reason, log_path, next_step)
        self.step = step
        self.reason = reason
        self.log_path = log_path
        self.next_step = next_step

    def __str__(self) -> str:
        lines = [f"{self.step} failed: {self.reason}"]
        if self.log_path:
            lines.append(f"  log:  {self.log_path}")
        if self.next_step:
            lines.append(f"  next: {self.next_step}")
        return "\n".join(lines)


def read_last_useful_line(log_path: Path, offset: int = 0) -> str:
    """Return the last line of the log from `offset` that tells of an error, else its last line.

    Returns "" when there is nothing to read.
    """
    try:
        with log_path.open("rb") as log:
            log.seek(offset)
            text = log.read().decode("utf-8", "replace")
    except OSError:
        return ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [
        line
        for line in lines
        if any(word in line.lower() for word in ("fatal", "error", "cannot", "denied", "failed"))
    ]
    return (telling or lines or [""])[-1]
