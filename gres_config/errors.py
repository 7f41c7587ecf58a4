"""The errors of this package: one root that carries the file, the line and the place in it."""

from collections.abc import Iterable

from gres_config.problems import Place, Problem, sort_problems


class GresConfigError(ValueError):
    """Something that no Slurm configuration can express, or that cannot be read, and why.

    `file_name`, `line` (from 1) and `place` say where; they are "", 0 and () where a value is
    wrong by itself and no file is known.
    """

    def __init__(
        self, message: str, *, file_name: str = "", line: int = 0, place: Place = ()
    ) -> None:
        self.file_name = file_name
        self.line = line
        self.place = place
        self.reason = message
        where = f"{file_name}:{line}: " if line else f"{file_name}: " if file_name else ""
        super().__init__(where + message)


class DocumentError(GresConfigError):
    """A file was refused; holds every problem found, in the order of the file."""

    def __init__(self, file_name: str, problems: Iterable[Problem]) -> None:
        self.problems = sort_problems(problems)
        first = self.problems[0]
        super().__init__("\n".join(problem.render(file_name) for problem in self.problems))
        self.file_name, self.line, self.place = file_name, first.line, first.place
