"""What forms share: whole numbers, Bootstrap's classes, and a service's errors on their fields."""

import re
from collections.abc import Mapping
from typing import Any

from django import forms

WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+")


class WholeNumberField(forms.IntegerField):
    """A number in the digits 0 to 9 alone: int() also reads 1_0, and digits of other scripts."""

    def to_python(self, value: Any) -> int | None:
        """Return the number, None where nothing was sent; raises ValidationError."""
        text = str(value).strip()
        if value not in self.empty_values and not WHOLE_NUMBER.fullmatch(text):
            raise forms.ValidationError(self.error_messages["invalid"], code="invalid")
        return super().to_python(value)


def style_fields(form: forms.BaseForm) -> None:
    """Give each widget the class that the stylesheet knows."""
    for field in form.fields.values():
        widget = field.widget
        if isinstance(widget, forms.CheckboxInput):
            widget.attrs.setdefault("class", "form-check-input")
        elif isinstance(widget, forms.Select):
            widget.attrs.setdefault("class", "form-select")
        elif not widget.is_hidden:
            widget.attrs.setdefault("class", "form-control")


def add_errors(form: forms.BaseForm, fields: Mapping[str, str]) -> None:
    """Put a service's sentences onto the form's fields; one without a field goes to the top."""
    for name, sentence in fields.items():
        form.add_error(name if name in form.fields else None, sentence)
