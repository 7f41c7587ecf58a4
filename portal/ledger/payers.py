"""Says whose usage and charges a reading is about."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeVar

from django.db.models import Model, Q, QuerySet

from portal.projects.models import Project

_Row = TypeVar("_Row", bound=Model)


@dataclass(frozen=True, slots=True)
class Payers:
    """Everybody where both are None; else what one of the organisations or of the projects pays."""

    organisation_ids: frozenset[int] | None = None
    project_ids: frozenset[int] | None = None

    @classmethod
    def read(
        cls,
        organisation_ids: Collection[int] | None = None,
        project_ids: Collection[int] | None = None,
        project: Project | None = None,
    ) -> "Payers":
        """Return the payers; a single project is the same as project_ids of it alone."""
        if project is not None:
            project_ids = {*(project_ids or ()), project.pk}
        return cls(
            None if organisation_ids is None else frozenset(organisation_ids),
            None if project_ids is None else frozenset(project_ids),
        )

    def narrow(self, rows: QuerySet[_Row], *, organisation: str, project: str) -> QuerySet[_Row]:
        """Return the payers' rows; the names are those of the columns that hold the ids."""
        if self.organisation_ids is None and self.project_ids is None:
            return rows
        return rows.filter(
            Q(**{f"{organisation}__in": self.organisation_ids or ()})
            | Q(**{f"{project}__in": self.project_ids or ()})
        )

    def narrow_usage(self, rows: QuerySet[_Row]) -> QuerySet[_Row]:
        """Return the payers' usage records; a project's organisation is the one of today."""
        return self.narrow(rows, organisation="project__organisation_id", project="project_id")


EVERYBODY = Payers()
