"""What a load did with each thing of the file."""

from dataclasses import dataclass
from enum import StrEnum


class Verb(StrEnum):
    CREATED = "created"
    CHANGED = "changed"
    SAME = "same"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one thing of the file; `details` names the changed fields."""

    verb: Verb
    kind: str
    name: str
    details: str = ""

    def __str__(self) -> str:
        more = f" ({self.details})" if self.details else ""
        return f"{self.verb:<8} {self.kind} {self.name}{more}"
