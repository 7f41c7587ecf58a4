"""The reviewer's form: a decision, the grant of each line, a comment, and the version seen."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms

from portal.allocations.inputs import Grant
from portal.allocations.models import RequestLine
from portal.web.forms.fields import WholeNumberField, add_errors, style_fields


class Decision:
    """The names of the reviewer's buttons."""

    APPROVE = "approve"
    REJECT = "reject"
    ASK_FOR_CHANGES = "ask_for_changes"
    ALL = (APPROVE, REJECT, ASK_FOR_CHANGES)


class ReviewForm(forms.Form):
    """`version` is what the reviewer has seen; units-<id> and unit_hours-<id> are the grants."""

    version = WholeNumberField(
        widget=forms.HiddenInput,
        error_messages={
            "required": "The form was incomplete: load the page again.",
            "invalid": "The form was damaged: load the page again.",
        },
    )
    decision = forms.ChoiceField(
        choices=[(name, name) for name in Decision.ALL],
        widget=forms.HiddenInput,
        error_messages={
            "required": "Choose a decision: approve, ask for changes, or reject.",
            "invalid_choice": "Choose one of the decisions.",
        },
    )
    comment = forms.CharField(
        label="Comment to the requester",
        help_text="Needed for asking for changes and for rejecting.",
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    def __init__(self, *args: Any, lines: Sequence[RequestLine], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.lines = list(lines)
        for line in self.lines:
            label = f"{line.offering.title}, {line.get_purchase_option_display().lower()}"
            self.fields[f"units-{line.pk}"] = _make_amount(
                line.units, f"Units to grant of {label}", least=0
            )
            self.fields[f"unit_hours-{line.pk}"] = _make_amount(
                line.unit_hours, f"Unit-hours to grant of {label}", least=1
            )
        style_fields(self)

    def read_grants(self) -> dict[int, Grant]:
        """Return the grant of each line; what was left empty is granted whole."""
        return {
            line.pk: Grant(
                _or_whole(self.cleaned_data.get(f"units-{line.pk}"), line.units),
                _or_whole(self.cleaned_data.get(f"unit_hours-{line.pk}"), line.unit_hours),
            )
            for line in self.lines
        }

    def add_service_errors(self, fields: Mapping[str, str]) -> None:
        """Put "grants.<id>.<field>" onto the line's field, the rest where its name says."""
        renamed: dict[str, str] = {}
        for name, sentence in fields.items():
            parts = name.split(".")
            renamed[f"{parts[2]}-{parts[1]}" if len(parts) == 3 else name] = sentence
        add_errors(self, renamed)


def _make_amount(whole: int, label: str, *, least: int) -> WholeNumberField:
    return WholeNumberField(
        label=label,
        required=False,
        initial=whole,
        widget=forms.NumberInput(attrs={"inputmode": "numeric", "min": least, "max": whole}),
        error_messages={"invalid": "Write a whole number."},
    )


def _or_whole(value: int | None, whole: int) -> int:
    return whole if value is None else value


class CommentForm(forms.Form):
    """A remark in the conversation."""

    comment = forms.CharField(
        label="Write a comment",
        widget=forms.Textarea(attrs={"rows": 3}),
        error_messages={"required": "Write a comment first."},
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        style_fields(self)


class VersionForm(forms.Form):
    """An act on the version of a request that the person has seen."""

    version = WholeNumberField(widget=forms.HiddenInput)
