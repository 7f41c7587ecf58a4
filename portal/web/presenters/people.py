"""Names of people behind logins of the cluster."""

from collections.abc import Iterable

from portal.projects.models import User


def name_people(unix_names: Iterable[str]) -> dict[str, str]:
    """Return Unix login -> name, for those whom the portal knows. One query."""
    people = User.objects.filter(unix_name__in={name for name in unix_names if name})
    return {
        person.unix_name: person.get_full_name() or person.username
        for person in people
        if person.unix_name
    }
