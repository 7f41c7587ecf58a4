"""The addresses of the pages."""

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.urls import path, register_converter
from django.views.generic import RedirectView

from portal.web import converters
from portal.web.views import (
    accounts,
    allocations,
    catalog,
    chargeback,
    holds,
    home,
    members,
    operations,
    projects,
    requests,
    reviews,
    usage,
)

register_converter(converters.CodeConverter, "code")
register_converter(converters.KeyConverter, "key")
register_converter(converters.MonthConverter, "month")

show_favicon = login_not_required(
    RedirectView.as_view(url=f"{settings.STATIC_URL}web/favicon.svg", permanent=False)
)

urlpatterns = [
    path("login/", accounts.PortalLoginView.as_view(), name="login"),
    path("logout/", accounts.PortalLogoutView.as_view(), name="logout"),
    path("favicon.ico", show_favicon, name="favicon"),
    path("", home.show_home, name="home"),
    path("projects/", projects.list_projects, name="project_list"),
    path("projects/<code:code>/", projects.show_project, name="project_detail"),
    path("projects/<code:code>/members/add/", members.add, name="member_add"),
    path("projects/<code:code>/members/<key:pk>/remove/", members.remove, name="member_remove"),
    path("projects/<code:code>/usage/", usage.show_latest_usage, name="project_usage_latest"),
    path("projects/<code:code>/usage/<month:month>/", usage.show_usage, name="project_usage"),
    path("projects/<code:code>/jobs/", usage.list_jobs, name="project_jobs"),
    path("catalogue/", catalog.show_catalogue, name="catalogue"),
    path("requests/", requests.list_requests, name="request_list"),
    path("requests/new/", requests.create, name="request_new"),
    path("requests/<key:pk>/", requests.show_request, name="request_detail"),
    path("requests/<key:pk>/edit/", requests.edit, name="request_edit"),
    path("requests/<key:pk>/withdraw/", requests.withdraw, name="request_withdraw"),
    path("requests/<key:pk>/comment/", requests.comment, name="request_comment"),
    path("reviews/", reviews.show_queue, name="review_queue"),
    path("reviews/<key:pk>/", reviews.review, name="review_detail"),
    path("allocations/", allocations.list_allocations, name="allocation_list"),
    path("allocations/<key:pk>/", allocations.show_allocation, name="allocation_detail"),
    path("allocations/<key:pk>/lines/<key:line_pk>/hold/", holds.place, name="hold_place"),
    path("allocations/<key:pk>/lines/<key:line_pk>/release/", holds.release, name="hold_release"),
    path("operations/", operations.show_operations, name="operations"),
    path("chargeback/", chargeback.show_latest, name="chargeback_latest"),
    path("chargeback/<month:month>/", chargeback.show_month, name="chargeback"),
    path("chargeback/<month:month>/csv/", chargeback.download_csv, name="chargeback_csv"),
]
