"""The login form."""

from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm
from django.utils import timezone

from portal.web.forms.fields import style_fields
from portal.web.sign_in import has_failed_too_often, record_failure


class LoginForm(AuthenticationForm):
    """Login and password; after many wrong ones it says to wait, whatever the password."""

    error_messages = {
        "invalid_login": "This login and password do not go together. Both mind capital letters.",
        "inactive": "This person's access has ended.",
        "too_often": "Signing in has failed too often. Wait a quarter of an hour, then try again.",
    }

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.fields["username"].label = "Login"
        self.fields["username"].error_messages["required"] = "Write your login."
        self.fields["password"].error_messages["required"] = "Write your password."
        style_fields(self)

    @property
    def is_refused(self) -> bool:
        """Whether signing in has failed too often."""
        return self.has_error("__all__", "too_often")

    def clean(self) -> dict[str, Any]:
        """Check login and password, but not more often than a person would try."""
        login, now = self.cleaned_data.get("username"), timezone.now()
        if not login or not self.cleaned_data.get("password"):
            return self.cleaned_data
        address = self.request.META.get("REMOTE_ADDR", "") if self.request else ""
        if has_failed_too_often(login, address, now):
            raise forms.ValidationError(self.error_messages["too_often"], code="too_often")
        try:
            return super().clean()
        except forms.ValidationError:
            record_failure(login, address, now)
            raise
