"""The request form: one project and period, several lines, and the key that stops doubles."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias
from uuid import uuid4

from django import forms

from portal.allocations.inputs import MAX_LINES, LineInput, RequestInput
from portal.catalog.choices import PurchaseOption
from portal.catalog.models import Offering
from portal.projects.models import Project
from portal.web.forms.fields import add_errors, style_fields

ISO_DATE = "%Y-%m-%d"
UNKNOWN_OFFERING = 0  # no row has this id: the service then says that the offering is gone


class DateInput(forms.DateInput):
    """A date field of the browser's own."""

    input_type = "date"

    def __init__(self) -> None:
        super().__init__(format=ISO_DATE)


class DateField(forms.DateField):
    """A day as browsers send it; no other order, for 03/04/2026 is two days."""

    widget = DateInput
    default_error_messages = {
        "invalid": "Write a date as 2026-11-30.",
        "required": "Choose a day.",
    }

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(input_formats=[ISO_DATE], **kwargs)


class RequestForm(forms.Form):
    """What holds for all lines of a request."""

    project = forms.CharField(
        label="Project",
        widget=forms.Select,
        error_messages={"required": "Choose the project that will use and pay for the GPUs."},
    )
    start_date = DateField(label="First day")
    end_date = DateField(label="Ends before", help_text="The first day on which it is over.")
    justification = forms.CharField(
        label="What is it for?",
        help_text="A few sentences for the reviewer: the work, and why this much.",
        required=False,  # the service asks for it, together with all else that it finds
        widget=forms.Textarea(attrs={"rows": 5}),
    )
    submit_key = forms.UUIDField(
        widget=forms.HiddenInput,
        error_messages={
            "required": "The form was incomplete: load the page again.",
            "invalid": "The form was damaged: load the page again.",
        },
    )
    version = forms.IntegerField(
        widget=forms.HiddenInput,
        required=False,
        error_messages={"invalid": "The form was damaged: load the page again."},
    )

    def __init__(self, *args: Any, projects: Sequence[Project], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.projects = {project.code: project for project in projects}
        choices = [(project.code, f"{project.code} · {project.title}") for project in projects]
        if len(choices) != 1:
            choices.insert(0, ("", "Choose a project"))
        self.fields["project"].widget.choices = choices
        style_fields(self)

    def get_project(self) -> Project | None:
        """Return the chosen project where the person leads it; None otherwise."""
        return self.projects.get(str(self["project"].value() or ""))


class LineForm(forms.Form):
    """One line: an offering and how much of it."""

    offering = forms.CharField(
        label="Offering",
        widget=forms.Select,
        error_messages={"required": "Choose an offering, or remove this line."},
    )
    purchase_option = forms.CharField(
        label="Purchase option",
        widget=forms.Select(choices=PurchaseOption.choices),
        error_messages={"required": "Choose on demand or spot."},
    )
    units = forms.IntegerField(
        label="Units at a time",
        widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
        error_messages={"invalid": "Write a whole number.", "required": "Write a whole number."},
    )
    unit_hours = forms.IntegerField(
        label="Unit-hours in all",
        widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
        error_messages={"invalid": "Write a whole number.", "required": "Write a whole number."},
    )

    def __init__(self, *args: Any, offerings: Iterable[tuple[str, str]] = (), **kwargs: Any):
        super().__init__(*args, **kwargs)
        choices = [("", "Choose an offering"), *offerings]
        value = str(self["offering"].value() or "")
        if value and value not in dict(choices):
            choices.append((value, f"{value[:40]} (no longer available)"))
        self.fields["offering"].widget.choices = choices
        style_fields(self)


class BaseLineFormSet(forms.BaseFormSet):  # type: ignore[type-arg]
    """The lines of one request."""

    default_error_messages = {
        "missing_management_form": "The form was incomplete: load the page again.",
        "too_many_forms": "One request holds up to %(num)d lines: make a second one.",
    }

    def get_form_kwargs(self, index: int | None) -> dict[str, Any]:
        """Let no line be empty: one that nothing was sent for is told as missing its fields."""
        return {**super().get_form_kwargs(index), "empty_permitted": False}


LineForms: TypeAlias = BaseLineFormSet
LineFormSet = forms.formset_factory(
    LineForm, formset=BaseLineFormSet, extra=0, max_num=MAX_LINES, absolute_max=MAX_LINES + 12
)


def read_request_input(
    form: RequestForm, lines: LineForms, offerings: Sequence[Offering]
) -> RequestInput:
    """Return what two valid forms say, as the service takes it."""
    ids = {offering.code: offering.pk for offering in offerings}
    return RequestInput(
        lines=tuple(
            LineInput(
                offering_id=ids.get(line.cleaned_data["offering"], UNKNOWN_OFFERING),
                purchase_option=line.cleaned_data["purchase_option"],
                units=line.cleaned_data["units"],
                unit_hours=line.cleaned_data["unit_hours"],
            )
            for line in lines.forms
        ),
        start_date=form.cleaned_data["start_date"],
        end_date=form.cleaned_data["end_date"],
        justification=form.cleaned_data["justification"],
        submit_key=form.cleaned_data["submit_key"],
    )


def add_request_errors(form: RequestForm, lines: LineForms, fields: Mapping[str, str]) -> None:
    """Put the service's sentences where they belong: a field, a line's field, or the top."""
    rest: dict[str, str] = {}
    for name, sentence in fields.items():
        parts = name.split(".")
        if len(parts) == 3 and parts[1].isdigit() and int(parts[1]) < len(lines.forms):
            add_errors(lines.forms[int(parts[1])], {parts[2]: sentence})
        else:
            rest[name] = sentence
    add_errors(form, rest)


def change_lines(data: Any, prefix: str = "lines") -> Any:
    """Return a copy of POST data with one line more (add_line) or one less (remove_line).

    A number that cannot be read changes nothing; the formset then says what is wrong.
    """
    copy = data.copy()
    total = str(copy.get(f"{prefix}-TOTAL_FORMS", ""))
    count = int(total) if total.isascii() and total.isdigit() and len(total) < 4 else 0
    removed = str(copy.get("remove_line", ""))
    names = ("offering", "purchase_option", "units", "unit_hours")
    if "add_line" in copy and 0 < count < MAX_LINES:
        copy[f"{prefix}-TOTAL_FORMS"] = str(count + 1)
        copy[f"{prefix}-{count}-purchase_option"] = PurchaseOption.ON_DEMAND
    elif removed.isascii() and removed.isdigit() and count > 1 and int(removed[:4]) < count:
        for index in range(int(removed[:4]), count - 1):
            for name in names:
                copy[f"{prefix}-{index}-{name}"] = copy.get(f"{prefix}-{index + 1}-{name}", "")
        copy[f"{prefix}-TOTAL_FORMS"] = str(count - 1)
    return copy


def fill_in_defaults(data: Any, offerings: Sequence[Offering], prefix: str = "lines") -> Any:
    """Return a copy of POST data where empty amounts hold the chosen offering's defaults."""
    copy = data.copy()
    by_code = {offering.code: offering for offering in offerings}
    for index in range(MAX_LINES):
        offering = by_code.get(str(copy.get(f"{prefix}-{index}-offering", "")))
        if offering is None:
            continue
        if not copy.get(f"{prefix}-{index}-units"):
            copy[f"{prefix}-{index}-units"] = str(offering.default_units)
        if not copy.get(f"{prefix}-{index}-unit_hours"):
            copy[f"{prefix}-{index}-unit_hours"] = str(offering.default_unit_hours)
    return copy


def make_submit_key() -> str:
    """Return a new key for one showing of the form."""
    return str(uuid4())
