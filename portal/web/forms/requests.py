"""The request form: one project and period, several lines, and the key that stops doubles."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any, TypeAlias
from uuid import uuid4

from django import forms
from django.forms.formsets import TOTAL_FORM_COUNT, ManagementForm
from django.utils.functional import cached_property

from portal.allocations.inputs import MAX_LINES, LineInput, RequestInput
from portal.catalog.choices import PurchaseOption
from portal.catalog.models import Offering
from portal.projects.models import Project
from portal.web.forms.fields import WholeNumberField, add_errors, style_fields

ISO_DATE = "%Y-%m-%d"
COUNT = re.compile(r"[0-9]{1,3}")
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

    def to_python(self, value: Any) -> date | None:
        """Return the day; digits of other scripts, which strptime reads too, are refused."""
        if isinstance(value, str) and not value.strip().isascii():
            raise forms.ValidationError(self.error_messages["invalid"], code="invalid")
        return super().to_python(value)


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
    version = WholeNumberField(
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
    units = WholeNumberField(
        label="Units at a time",
        widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
        error_messages={"invalid": "Write a whole number.", "required": "Write a whole number."},
    )
    unit_hours = WholeNumberField(
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

    @cached_property
    def management_form(self) -> ManagementForm:
        """Return what counts the lines; a count that change_lines would not read is damaged."""
        form = super().management_form
        if self.is_bound and not _is_count(form[TOTAL_FORM_COUNT].value()):
            form.add_error(TOTAL_FORM_COUNT, "This is no number of lines.")
            form.cleaned_data[TOTAL_FORM_COUNT] = 0
        return form

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
    total = copy.get(f"{prefix}-{TOTAL_FORM_COUNT}", "")
    count = int(total) if _is_count(total) else 0
    removed = str(copy.get("remove_line", ""))
    names = ("offering", "purchase_option", "units", "unit_hours")
    if "add_line" in copy and 0 < count < MAX_LINES:
        copy[f"{prefix}-TOTAL_FORMS"] = str(count + 1)
        copy[f"{prefix}-{count}-purchase_option"] = PurchaseOption.ON_DEMAND
    elif _is_count(removed) and count > 1 and int(removed) < count:
        for index in range(int(removed), count - 1):
            for name in names:
                copy[f"{prefix}-{index}-{name}"] = copy.get(f"{prefix}-{index + 1}-{name}", "")
        copy[f"{prefix}-TOTAL_FORMS"] = str(count - 1)
    return copy


def _is_count(text: Any) -> bool:
    return COUNT.fullmatch(str(text)) is not None


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
