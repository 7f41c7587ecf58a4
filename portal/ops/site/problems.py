"""The error of a site file: every problem of it, with lines."""

from collections.abc import Iterable

from gres_config.problems import Problem, sort_problems
from portal.common.errors import PortalError


class SiteFileError(PortalError):
    """The file was refused, and nothing of it was stored; holds all problems, in file order."""

    code = "site_file"

    def __init__(self, file_name: str, problems: Iterable[Problem]) -> None:
        self.file_name = file_name
        self.problems = sort_problems(problems)
        super().__init__("\n".join(problem.render(file_name) for problem in self.problems))
