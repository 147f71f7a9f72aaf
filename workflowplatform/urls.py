"""The addresses of inbox, accounts, admin, REST API and metrics."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from engine.api.views.metrics import MetricsView
from engine.dispatch.rq_status import queue_pages

handler400 = "engine.api.views.server_errors.answer_malformed"
handler404 = "engine.api.views.server_errors.answer_unknown"
handler500 = "engine.api.views.server_errors.answer_defect"

urlpatterns = [
    path("", RedirectView.as_view(url="/inbox/", permanent=False)),
    path("inbox/", include("tasks_inbox.urls")),
    path("accounts/", include("workflowplatform.accounts.urls")),
    path("admin/queues/", include((queue_pages(admin.site.admin_view), "django_rq"))),
    path("admin/", admin.site.urls),
    path("api/v1/", include("engine.api.urls")),
    path("metrics", MetricsView.as_view()),
]
