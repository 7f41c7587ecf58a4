"""Signing in and out."""

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpResponse
from django.utils.decorators import method_decorator

from portal.web.forms.accounts import LoginForm
from portal.web.landing import find_landing


class PortalLoginView(LoginView):
    """The login page; a wrong password answers 400, too many of them 429, with a sentence."""

    template_name = "login.html"
    authentication_form = LoginForm
    redirect_authenticated_user = True

    def get_redirect_url(self) -> str:  # type: ignore[override]
        """Return where ?next= leads, "" where it is not of this portal."""
        url = super().get_redirect_url()
        return find_landing(url) if url else ""

    def form_invalid(self, form: LoginForm) -> HttpResponse:  # type: ignore[override]
        response = self.render_to_response(self.get_context_data(form=form))
        response.status_code = 429 if form.is_refused else 400
        return response


@method_decorator(login_not_required, name="dispatch")
class PortalLogoutView(LogoutView):
    """Ends the session; takes POST only."""
