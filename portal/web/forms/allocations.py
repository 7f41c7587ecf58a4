"""The operators' form that stops new jobs of an allocation's line."""

from typing import Any

from django import forms

from portal.allocations.models import AllocationLine
from portal.web.forms.fields import style_fields


class HoldForm(forms.Form):
    """Why a line is stopped; one form for each line stands on the page."""

    reason = forms.CharField(
        label="Reason",
        help_text="Members read it on this page, and Slurm's refusal leads here.",
        max_length=200,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        error_messages={
            "required": "Say why: members read it.",
            "max_length": "Give a reason of up to 200 characters.",
        },
    )

    def __init__(self, *args: Any, line: AllocationLine, **kwargs: Any) -> None:
        kwargs["auto_id"] = f"id_hold-{line.pk}_%s"
        super().__init__(*args, **kwargs)
        style_fields(self)
