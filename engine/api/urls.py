"""The routes under `/api/v1/`; what is not listed here does not exist yet."""

from django.urls import include, path

from engine.api.views import instances, tasks, templates
from engine.api.views.base import NothingHere
from engine.api.views.health import HealthView

app_name = "api"

version_routes = [
    path("", templates.VersionView.as_view(), name="version"),
    path("activate/", templates.ActivateView.as_view(), name="activate"),
    path("pause/", templates.PauseView.as_view(), name="pause"),
    path("resume/", templates.ResumeView.as_view(), name="resume"),
    path("archive/", templates.ArchiveView.as_view(), name="archive"),
    path("export/", templates.ExportView.as_view(), name="export"),
]

instance_routes = [
    path("", instances.InstanceView.as_view(), name="instance"),
    path("history/", instances.HistoryView.as_view(), name="history"),
    path("steps/", instances.StepsView.as_view(), name="steps"),
    path("cancel/", instances.CancelView.as_view(), name="cancel"),
]

task_routes = [
    path("", tasks.TaskView.as_view(), name="task"),
    path("claim/", tasks.ClaimView.as_view(), name="claim"),
    path("release/", tasks.ReleaseView.as_view(), name="release"),
    path("complete/", tasks.CompleteView.as_view(), name="complete"),
    path("why/", tasks.WhyView.as_view(), name="why"),
]

urlpatterns = [
    path("templates/", templates.TemplatesView.as_view(), name="templates"),
    path("templates/validate/", templates.ValidateView.as_view(), name="validate"),
    path("templates/<slug:name>/", templates.TemplateView.as_view(), name="template"),
    path("templates/<slug:name>/versions/<int:number>/", include(version_routes)),
    path("instances/", instances.InstancesView.as_view(), name="instances"),
    path("instances/<uuid:instance_id>/", include(instance_routes)),
    path("tasks/", tasks.TasksView.as_view(), name="tasks"),
    path("tasks/<uuid:task_id>/", include(task_routes)),
    path("health/", HealthView.as_view(), name="health"),
    path("<path:anywhere>", NothingHere.as_view()),
]
