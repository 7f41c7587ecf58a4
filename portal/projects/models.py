"""The site, its people, organisations, projects, memberships and roles."""

from django.contrib.auth.models import AbstractUser
from django.core.validators import RegexValidator
from django.db import models

from portal.common.models import TimestampedModel
from portal.projects.choices import ProjectRole, ProjectState, SiteRole

slurm_name_validator = RegexValidator(
    r"\A[a-z0-9][a-z0-9_.-]{0,38}\Z",
    "Use 1 to 39 characters: lower-case letters, digits, hyphen, dot and underscore, "
    "beginning with a letter or digit.",
)


class Site(models.Model):
    """The one row with what is true of the whole installation."""

    name = models.CharField(max_length=100)
    time_zone = models.CharField(max_length=60, default="UTC")
    currency = models.CharField(max_length=3, default="EUR")
    currency_exponent = models.PositiveSmallIntegerField(default=2)
    support_email = models.EmailField(blank=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="site_is_one_row")]

    def __str__(self) -> str:
        return self.name


class User(AbstractUser):
    """A person; `unix_name` is the login on the cluster, unique and null where there is none."""

    unix_name = models.CharField(
        max_length=32,
        null=True,
        blank=True,
        unique=True,
        validators=[RegexValidator(r"\A[a-z_][a-z0-9_.-]{0,31}\Z", "Not a Unix login.")],
    )


class Organisation(TimestampedModel):
    """A department or group in a tree, with the cost centre that is charged."""

    code = models.SlugField(max_length=40, unique=True)
    name = models.CharField(max_length=150)
    parent = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="children"
    )
    cost_centre = models.CharField(max_length=40, blank=True)
    slurm_account = models.CharField(max_length=39, unique=True, validators=[slurm_name_validator])

    def __str__(self) -> str:
        return self.name


class Project(TimestampedModel):
    """A project; its code is its Slurm account's name."""

    code = models.CharField(max_length=39, unique=True, validators=[slurm_name_validator])
    title = models.CharField(max_length=150)
    description = models.TextField(blank=True)
    organisation = models.ForeignKey(
        Organisation, on_delete=models.PROTECT, related_name="projects"
    )
    state = models.CharField(
        max_length=10, choices=ProjectState.choices, default=ProjectState.ACTIVE
    )
    is_suspense = models.BooleanField(
        default=False, help_text="collects usage of Slurm accounts that no project owns"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["is_suspense"],
                condition=models.Q(is_suspense=True),
                name="project_one_suspense",
            )
        ]

    def __str__(self) -> str:
        return f"{self.code} {self.title}"


class Membership(TimestampedModel):
    """A person's role in a project."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="memberships")
    role = models.CharField(max_length=10, choices=ProjectRole.choices, default=ProjectRole.MEMBER)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "user"], name="membership_once")]

    def __str__(self) -> str:
        return f"{self.user} in {self.project_id}"


class RoleGrant(TimestampedModel):
    """A site role, for one organisation and all below it, or for the whole site when null."""

    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="role_grants")
    role = models.CharField(max_length=10, choices=SiteRole.choices)
    organisation = models.ForeignKey(
        Organisation, on_delete=models.PROTECT, null=True, blank=True, related_name="role_grants"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "role", "organisation"],
                name="role_grant_once",
                nulls_distinct=False,
            )
        ]

    def __str__(self) -> str:
        return f"{self.user} {self.role}"
