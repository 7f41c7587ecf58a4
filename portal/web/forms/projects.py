"""Forms of a project's members."""

from typing import Any

from django import forms

from portal.projects.choices import ProjectRole
from portal.web.forms.fields import style_fields


class MemberForm(forms.Form):
    """A person by login, and the role."""

    username = forms.CharField(
        label="Login of the person",
        max_length=150,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        error_messages={
            "required": "Write the person's login.",
            "max_length": "A login has at most 150 characters.",
        },
    )
    role = forms.CharField(
        label="Role",
        initial=ProjectRole.MEMBER,
        widget=forms.Select(choices=ProjectRole.choices),
        error_messages={"required": "Choose a role."},
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        style_fields(self)
