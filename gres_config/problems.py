"""What is wrong with a file: each problem with its line, its place in the file and a sentence."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One error; `place` is the way to it, ("people", 0, "email"), `line` counts from 1."""

    line: int
    place: Place
    sentence: str

    def render(self, file_name: str) -> str:
        """Return "site.yaml:12: people[0].email: ..."."""
        place = render_place(self.place)
        return f"{file_name}:{self.line}: {place + ': ' if place else ''}{self.sentence}"


def sort_problems(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return the problems once each, in the order of the file."""
    return tuple(sorted(set(problems), key=lambda problem: (problem.line, str(problem.place))))


def render_place(place: Place) -> str:
    """Return "people[0].email" for ("people", 0, "email")."""
    text = ""
    for part in place:
        text += f"[{part}]" if isinstance(part, int) else f"{'.' if text else ''}{part}"
    return text


def suggest(word: str, known: Iterable[str]) -> str:
    """Return " Did you mean “x”?" for the nearest known word, else ""."""
    near = get_close_matches(word, sorted(known), n=1, cutoff=0.6)
    return f" Did you mean “{near[0]}”?" if near else ""
