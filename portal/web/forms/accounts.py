"""The login form."""

from django.contrib.auth.forms import AuthenticationForm

from portal.web.forms.fields import style_fields


class LoginForm(AuthenticationForm):
    """Login and password."""

    error_messages = {
        "invalid_login": "This login and password do not go together. Both mind capital letters.",
        "inactive": "This person's access has ended.",
    }

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.fields["username"].label = "Login"
        style_fields(self)
