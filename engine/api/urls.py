"""The routes under `/api/v1/`; what is not listed here does not exist yet."""

from django.urls import path

from engine.api.views.base import NothingHere
from engine.api.views.health import HealthView

app_name = "api"

urlpatterns = [
    path("health/", HealthView.as_view(), name="health"),
    path("<path:anywhere>", NothingHere.as_view()),
]
