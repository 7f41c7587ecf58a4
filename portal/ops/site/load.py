"""Stores a site description: all of it or nothing, again and again; it never deletes."""

from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

from django.db import models, transaction

from gres_config.document import Document
from gres_config.problems import Place, Problem
from portal.audit.services import record_event
from portal.catalog.models import Offering, Rate
from portal.common.ticks import request_tick
from portal.inventory.models import Cluster, Pool
from portal.ops.site.description import Description, Part
from portal.ops.site.outcomes import Outcome, Verb
from portal.ops.site.price_rows import store_prices
from portal.ops.site.problems import SiteFileError
from portal.projects.models import Membership, Organisation, Project, RoleGrant, Site, User

Row = TypeVar("Row", bound=models.Model)
ACTOR = "load_site"


class _DryRun(Exception):
    """Leaves the transaction of a dry run."""


def load_site(
    description: Description, document: Document, *, now: datetime, is_dry_run: bool = False
) -> tuple[Outcome, ...]:
    """Store the description and return what became of each thing; SiteFileError stores nothing.

    A dry run does the same work and takes it back.
    """
    loader = SiteLoader(description, document, now)
    try:
        with transaction.atomic():
            loader.load()
            if loader.problems:
                raise SiteFileError(document.file_name, loader.problems)
            if is_dry_run:
                raise _DryRun
            if any(outcome.verb is not Verb.SAME for outcome in loader.outcomes):
                request_tick("reconcile")
    except _DryRun:
        pass
    return tuple(loader.outcomes)


def _get_values(part: Part, *left_out: str) -> dict[str, Any]:
    """Return the part's fields as column values: an absent text is an empty one."""
    values = part.model_dump(exclude=set(left_out))
    return {name: str(value) if isinstance(value, StrEnum) else value
            for name, value in values.items()}  # fmt: skip


class SiteLoader:
    """One load: stores part after part, notes outcomes, collects refusals."""

    def __init__(self, description: Description, document: Document, now: datetime) -> None:
        self.description = description
        self.document = document
        self.now = now
        self.outcomes: list[Outcome] = []
        self.problems: list[Problem] = []
        self.organisations: dict[str, Organisation] = {}
        self.people: dict[str, User] = {}
        self.pools: dict[tuple[str, str], Pool] = {}
        self.offerings: dict[str, Offering] = {}

    def load(self) -> None:
        """Store everything, what others refer to first."""
        self._load_site()
        self._load_organisations()
        self._load_people()
        self._load_projects()
        self._load_clusters()
        self._load_offerings()
        if not self.problems:
            store_prices(self)

    def refuse(self, place: Place, sentence: str) -> None:
        """Note a problem at a place of the file; in the end nothing is stored."""
        self.problems.append(Problem(self.document.find_line(place), place, sentence))

    def note(self, verb: Verb, kind: str, name: str, details: str = "") -> None:
        """Note what became of a thing; a change leaves an audit event too."""
        self.outcomes.append(Outcome(verb, kind, name, details))
        if verb is not Verb.SAME:
            record_event(
                at=self.now,
                actor=ACTOR,
                action=f"{verb}_{kind.replace(' ', '_')}",
                object_type=kind,
                object_id=name,
                data={"details": details} if details else {},
            )

    def store(
        self, model: type[Row], kind: str, name: str, key: dict[str, Any], values: dict[str, Any]
    ) -> Row:
        """Create the row with this key, or change the fields that differ; return it."""
        row = model._default_manager.filter(**key).first()
        if row is None:
            row = model._default_manager.create(**key, **values)
            self.note(Verb.CREATED, kind, name)
            return row
        changed = [field for field, value in values.items() if getattr(row, field) != value]
        for field in changed:
            setattr(row, field, values[field])
        if changed:
            row.save()
        self.note(Verb.CHANGED if changed else Verb.SAME, kind, name, ", ".join(changed))
        return row

    def _load_site(self) -> None:
        values = _get_values(self.description.site)
        values["support_email"] = values["support_email"] or ""
        stored = Site.objects.filter(pk=1).first()
        if stored is not None and Rate.objects.exists():
            for field in ("time_zone", "currency", "currency_exponent"):
                before = getattr(stored, field)
                if before != values[field]:
                    self.refuse(
                        ("site", field), f"This stays {before}: prices and statements rest on it."
                    )
        self.store(Site, "site", values["name"], {"pk": 1}, values)

    def _load_organisations(self) -> None:
        """Store parents before children, whatever their order in the file."""
        waiting = {item.code: (index, item)
                   for index, item in enumerate(self.description.organisations)}  # fmt: skip
        while waiting:
            ready = [code for code, (_, item) in waiting.items() if item.parent not in waiting]
            for code in ready:
                index, item = waiting.pop(code)
                self._check_free(
                    Organisation, "slurm_account", item.slurm_account, ("organisations", index),
                    code=code,
                )  # fmt: skip
                if self.problems:
                    continue
                values = _get_values(item, "code", "parent")
                values["parent"] = self.organisations[item.parent] if item.parent else None
                self.organisations[code] = self.store(
                    Organisation, "organisation", code, {"code": code}, values
                )

    def _check_free(
        self, model: type[models.Model], field: str, value: Any, place: Place, **own: Any
    ) -> None:
        """Refuse a unique value that a stored row, not named in the file, has already."""
        others = model._default_manager.filter(**{field: value}).exclude(**own)
        if value is not None and others.exists():
            self.refuse((*place, field), f"“{value}” is taken by {others.first()} already.")

    def _load_people(self) -> None:
        for index, item in enumerate(self.description.people):
            place = ("people", index)
            self._check_free(User, "unix_name", item.unix_name, place, username=item.username)
            if self.problems:
                continue
            values = _get_values(item, "username", "roles")
            values["email"] = values["email"] or ""
            is_new = not User.objects.filter(username=item.username).exists()
            user = self.store(User, "person", item.username, {"username": item.username}, values)
            if is_new:
                user.set_unusable_password()
                user.save(update_fields=["password"])
            self.people[item.username] = user
            for role in item.roles:
                organisation = self.organisations[role.organisation] if role.organisation else None
                where = role.organisation or "the whole site"
                name = f"{item.username}: {role.role} of {where}"
                key = {"user": user, "role": str(role.role), "organisation": organisation}
                self.store(RoleGrant, "role", name, key, {})

    def _load_projects(self) -> None:
        if self.problems:
            return
        for index, item in enumerate(self.description.projects):
            if Organisation.objects.filter(slurm_account=item.code).exists():
                sentence = f"“{item.code}” is the Slurm account of an organisation."
                self.refuse(("projects", index, "code"), sentence)
                continue
            values = _get_values(item, "code", "organisation", "members")
            values["organisation"] = self.organisations[item.organisation]
            project = self.store(Project, "project", item.code, {"code": item.code}, values)
            for member in item.members:
                self.store(
                    Membership,
                    "member",
                    f"{member.user} in {item.code}",
                    {"project": project, "user": self.people[member.user]},
                    {"role": str(member.role)},
                )

    def _load_clusters(self) -> None:
        for item in self.description.clusters:
            values = _get_values(item, "name", "inventory", "pools")
            cluster = self.store(Cluster, "cluster", item.name, {"name": item.name}, values)
            for pool in item.pools:
                name = f"{item.name}/{pool.code}"
                values = _get_values(pool, "code")
                values["spot_partition"] = values["spot_partition"] or ""
                self.pools[item.name, pool.code] = self.store(
                    Pool, "pool", name, {"cluster": cluster, "code": pool.code}, values
                )

    def _load_offerings(self) -> None:
        for index, item in enumerate(self.description.offerings):
            values = _get_values(item, "code", "cluster", "pool")
            values["pool"] = self.pools[item.cluster, item.pool]
            stored = Offering.objects.filter(code=item.code).select_related("pool").first()
            if stored is not None and stored.pool_id != values["pool"].pk:
                self.refuse(
                    ("offerings", index, "pool"),
                    f"This offering belongs to {stored.pool.code}: give another pool an offering "
                    "of its own, since allocations and usage rest on this one.",
                )
                continue
            self.offerings[item.code] = self.store(
                Offering, "offering", item.code, {"code": item.code}, values
            )
