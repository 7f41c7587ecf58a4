"""The journal of a change: one line of JSON for each step begun and done, kept on disk.

A run that was killed at any point is continued from here. A last line that was cut off counts as
not written.
"""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gres_config.relayout.plan import Plan, RelayoutError, Step


class Journal:
    """What has happened so far. Use it inside of `hold`, which lets one run at a time work."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._begun: set[tuple[str, Step]] = set()
        self._done: set[tuple[str, Step]] = set()
        self._plan_id = ""

    @contextmanager
    def hold(self, plan: Plan) -> Iterator["Journal"]:
        """Read the journal and keep others away from it.

        RelayoutError while another run works, and where it is the journal of another change that
        isn't finished. A finished one is begun anew.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle = self.path.open("a+b")
        except OSError as error:
            reason = f"the journal cannot be written: {error.strerror}"
            raise RelayoutError(reason, file_name=str(self.path)) from error
        with handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                reason = "another run works with this journal"
                raise RelayoutError(reason, file_name=str(self.path)) from None
            self._read()
            if self._plan_id != plan.plan_id:
                self._begin_plan(plan)
            yield self

    def _begin_plan(self, plan: Plan) -> None:
        open_nodes = {node for node, _ in self._begun if not self.is_finished(node)}
        if self._plan_id and open_nodes:
            raise RelayoutError(
                f"this is the journal of another change ({self._plan_id}), not finished on "
                f"{', '.join(sorted(open_nodes))}",
                file_name=str(self.path),
            )
        self._begun, self._done, self._plan_id = set(), set(), plan.plan_id
        self._write(event="plan", plan=plan.plan_id)

    def _read(self) -> None:
        raw = self.path.read_bytes()
        whole, _, cut = raw.rpartition(b"\n")
        if cut:
            os.truncate(self.path, len(raw) - len(cut))
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                self._take(json.loads(line))
            except (ValueError, KeyError, TypeError) as error:
                reason = "this is no line of a journal"
                raise RelayoutError(reason, file_name=str(self.path), line=number) from error

    def _take(self, entry: dict[str, Any]) -> None:
        event = entry["event"]
        if event == "plan":
            self._begun, self._done, self._plan_id = set(), set(), entry["plan"]
            return
        key = (entry["node"], Step(entry["step"]))
        if event == "begin":
            self._begun.add(key)
        elif event == "done":
            self._done.add(key)
        elif event == "forget":
            later = list(Step)[list(Step).index(key[1]) :]
            self._begun -= {(key[0], step) for step in later}
            self._done -= {(key[0], step) for step in later}

    def _write(self, **values: str) -> None:
        """Append a line that is on disk when this returns."""
        line = json.dumps({"at": datetime.now(UTC).isoformat(timespec="milliseconds"), **values})
        with self.path.open("ab") as handle:
            handle.write(line.encode() + b"\n")
            handle.flush()
            os.fsync(handle.fileno())

    def _record(self, event: str, node: str, step: Step, text: str = "") -> None:
        words = {"text": text} if text else {}
        self._write(event=event, node=node, step=step.value, **words)
        self._take({"event": event, "node": node, "step": step.value})

    def begin(self, node: str, step: Step) -> None:
        """Record that the step is about to act."""
        self._record("begin", node, step)

    def finish(self, node: str, step: Step) -> None:
        """Record that the step has acted."""
        self._record("done", node, step)

    def fail(self, node: str, step: Step, text: str) -> None:
        """Record why the step failed; it will be done again."""
        self._record("failed", node, step, text)

    def forget(self, node: str, step: Step) -> None:
        """Record that this step and those after it have to be done again."""
        self._record("forget", node, step)

    def has_begun(self, node: str, step: Step) -> bool:
        """Whether the step has ever begun since the plan did."""
        return (node, step) in self._begun

    def is_done(self, node: str, step: Step) -> bool:
        """Whether the step is done."""
        return (node, step) in self._done

    def is_finished(self, node: str) -> bool:
        """Whether the node is back in service."""
        return self.is_done(node, Step.RESUME)
