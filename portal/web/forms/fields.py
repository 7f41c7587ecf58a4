"""What forms share: Bootstrap's classes, and errors of a service put onto their fields."""

from collections.abc import Mapping

from django import forms


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
