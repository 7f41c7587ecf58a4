"""The site's URLs: the pages of portal.web."""

from django.urls import include, path

urlpatterns = [path("", include("portal.web.urls"))]

handler400 = "portal.web.views.errors.show_bad_request"
handler403 = "portal.web.views.errors.show_forbidden"
handler404 = "portal.web.views.errors.show_not_found"
handler500 = "portal.web.views.errors.show_server_error"
