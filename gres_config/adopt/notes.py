"""What adopt has to say: what is left where it is, what was guessed, what cannot be expressed."""

from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    """LOST means something else to Slurm when it is rendered; the others don't."""

    LOST = "not expressed"
    GUESSED = "guessed"
    STAYS = "stays in slurm.conf"
    CHANGED = "written in another way"


@dataclass(frozen=True, slots=True)
class Note:
    """One remark; `where` is file:line, a hostlist or "" for the whole cluster."""

    kind: Kind
    where: str
    text: str

    def render(self) -> str:
        """Return the remark as one line."""
        place = f"{self.where}: " if self.where else ""
        return f"{self.kind}: {place}{self.text}"


@dataclass(slots=True)
class Notes:
    """Collects remarks, each once."""

    notes: list[Note] = field(default_factory=list)

    def add(self, kind: Kind, where: object, text: str) -> None:
        """Add a remark unless it was made already."""
        note = Note(kind, str(where), text)
        if note not in self.notes:
            self.notes.append(note)
