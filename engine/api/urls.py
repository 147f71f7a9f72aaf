"""The routes under `/api/v1/`; what is not listed here does not exist yet."""

from django.urls import include, path, register_converter
from django.urls.converters import UUIDConverter

from engine.api.views import (
    attachments,
    audit,
    diagrams,
    instances,
    operations,
    people,
    requests,
    retention,
    schedules,
    signals_and_events,
    stream,
    substitutions,
    task_actions,
    tasks,
    templates,
    tenant_settings,
    webhooks,
)
from engine.api.views.base import NothingHere
from engine.api.views.health import HealthView
from engine.api.views.openapi import DocsView, SchemaView

app_name = "api"


class IdConverter(UUIDConverter):
    """An id as it was given, or in capitals, as some databases give it back."""

    regex = UUIDConverter.regex.replace("a-f", "a-fA-F")


register_converter(IdConverter, "id")

version_routes = [
    path("", templates.VersionView.as_view(), name="version"),
    path("activate/", templates.ActivateView.as_view(), name="activate"),
    path("pause/", templates.PauseView.as_view(), name="pause"),
    path("resume/", templates.ResumeView.as_view(), name="resume"),
    path("archive/", templates.ArchiveView.as_view(), name="archive"),
    path("simulate/", templates.SimulateView.as_view(), name="simulate"),
    path("export/", templates.ExportView.as_view(), name="export"),
    path("diff/", templates.DiffView.as_view(), name="diff"),
    path("diagram.svg", diagrams.VersionDiagramView.as_view(), name="version-diagram"),
]

instance_routes = [
    path("", instances.InstanceView.as_view(), name="instance"),
    path("history/", instances.HistoryView.as_view(), name="history"),
    path("steps/", instances.StepsView.as_view(), name="steps"),
    path("diagram.svg", diagrams.InstanceDiagramView.as_view(), name="instance-diagram"),
    path("cancel/", instances.CancelView.as_view(), name="cancel"),
    path("suspend/", operations.SuspendView.as_view(), name="suspend"),
    path("resume/", operations.ResumeView.as_view(), name="resume-instance"),
    path("retry/", operations.RetryView.as_view(), name="retry"),
    path("skip/", operations.SkipView.as_view(), name="skip"),
    path("signals/", operations.InstanceSignalsView.as_view(), name="instance-signals"),
    path("withdraw/", requests.WithdrawView.as_view(), name="withdraw"),
    path("remind/", requests.RemindView.as_view(), name="remind"),
    path("comment/", requests.CaseCommentView.as_view(), name="case-comment"),
    path("attachments/", requests.CaseFilesView.as_view(), name="case-attachments"),
    path("attachments/<id:attachment_id>/", requests.CaseFileView.as_view(), name="case-attachment"),
]

task_routes = [
    path("", tasks.TaskView.as_view(), name="task"),
    path("claim/", tasks.ClaimView.as_view(), name="claim"),
    path("release/", tasks.ReleaseView.as_view(), name="release"),
    path("complete/", tasks.CompleteView.as_view(), name="complete"),
    path("assign/", task_actions.AssignView.as_view(), name="assign"),
    path("delegate/", task_actions.DelegateView.as_view(), name="delegate"),
    path("ask/", task_actions.AskView.as_view(), name="ask"),
    path("return/", task_actions.ReturnView.as_view(), name="return"),
    path("draft/", task_actions.DraftView.as_view(), name="draft"),
    path("attachments/", attachments.AttachmentsView.as_view(), name="attachments"),
    path("attachments/<id:attachment_id>/", attachments.AttachmentView.as_view(), name="attachment"),
    path("tick/", task_actions.TickView.as_view(), name="tick"),
    path("comment/", task_actions.CommentView.as_view(), name="comment"),
    path("suspend/", task_actions.SuspendView.as_view(), name="suspend-task"),
    path("resume/", task_actions.ResumeView.as_view(), name="resume-task"),
    path("reopen/", task_actions.ReopenView.as_view(), name="reopen-task"),
    path("snooze/", task_actions.SnoozeView.as_view(), name="snooze"),
    path("skip/", task_actions.SkipView.as_view(), name="skip-task"),
    path("redo/", task_actions.RedoView.as_view(), name="redo"),
    path("why/", tasks.WhyView.as_view(), name="why"),
]

schedule_routes = [
    path("", schedules.ScheduleView.as_view(), name="schedule"),
    path("pause/", schedules.PauseView.as_view(), name="pause-schedule"),
    path("resume/", schedules.ResumeView.as_view(), name="resume-schedule"),
    path("preview/", schedules.PreviewView.as_view(), name="preview"),
]

webhook_routes = [
    path("", webhooks.WebhookView.as_view(), name="webhook"),
    path("pause/", webhooks.PauseView.as_view(), name="pause-webhook"),
    path("resume/", webhooks.ResumeView.as_view(), name="resume-webhook"),
    path("rotate/", webhooks.RotateView.as_view(), name="rotate-webhook"),
    path("ping/", webhooks.PingView.as_view(), name="ping-webhook"),
    path("replay/", webhooks.ReplayFailedView.as_view(), name="replay-webhook"),
]

urlpatterns = [
    path("templates/", templates.TemplatesView.as_view(), name="templates"),
    path("templates/validate/", templates.ValidateView.as_view(), name="validate"),
    path("templates/activate/", templates.ActivateSetView.as_view(), name="activate-set"),
    path("templates/<slug:name>/", templates.TemplateView.as_view(), name="template"),
    path("templates/<slug:name>/versions/<int:number>/", include(version_routes)),
    path("instances/", instances.InstancesView.as_view(), name="instances"),
    path("instances/<id:instance_id>/", include(instance_routes)),
    path("tasks/", tasks.TasksView.as_view(), name="tasks"),
    path("tasks/next/", task_actions.NextView.as_view(), name="next"),
    path("tasks/bulk/", task_actions.BulkView.as_view(), name="bulk"),
    path("tasks/<id:task_id>/", include(task_routes)),
    path("signals/", signals_and_events.SignalsView.as_view(), name="signals"),
    path("events/", signals_and_events.EventsView.as_view(), name="events"),
    path("schedules/", schedules.SchedulesView.as_view(), name="schedules"),
    path("schedules/<id:schedule_id>/", include(schedule_routes)),
    path("dead-letters/", operations.DeadLettersView.as_view(), name="dead-letters"),
    path("dead-letters/<id:letter_id>/replay/", operations.ReplayView.as_view(), name="replay"),
    path("dead-letters/<id:letter_id>/discard/", operations.DiscardView.as_view(), name="discard"),
    path("webhooks/", webhooks.WebhooksView.as_view(), name="webhooks"),
    path("webhooks/<id:webhook_id>/", include(webhook_routes)),
    path("deliveries/", webhooks.DeliveriesView.as_view(), name="deliveries"),
    path("deliveries/<id:delivery_id>/", webhooks.DeliveryView.as_view(), name="delivery"),
    path("deliveries/<id:delivery_id>/replay/", webhooks.ReplayView.as_view(), name="replay-delivery"),
    path("audit/", audit.AuditView.as_view(), name="audit"),
    path("audit/export/", audit.ExportView.as_view(), name="export-audit"),
    path("audit/verify/", audit.VerifyView.as_view(), name="verify"),
    path("retention/", retention.RetentionView.as_view(), name="retention"),
    path("secrets/", tenant_settings.SecretsView.as_view(), name="secrets"),
    path("secrets/<slug:name>/", tenant_settings.SecretView.as_view(), name="secret"),
    path("calendars/", tenant_settings.CalendarsView.as_view(), name="calendars"),
    path("calendars/<slug:name>/", tenant_settings.CalendarView.as_view(), name="calendar"),
    path("people/", people.PeopleView.as_view(), name="people"),
    path("people/<str:name>/", people.PersonView.as_view(), name="person"),
    path("people/<str:name>/reset/", people.ResetView.as_view(), name="person-reset"),
    path("people/<str:name>/confirm-email/", people.ConfirmEmailView.as_view(), name="person-confirm-email"),
    path("people/<str:name>/erase/", people.ErasureView.as_view(), name="erase-person"),
    path("people/<str:name>/export/", people.PersonExportView.as_view(), name="export-person"),
    path("roles/", people.RolesView.as_view(), name="roles"),
    path("roles/<slug:name>/", people.RoleView.as_view(), name="role"),
    path("substitutions/", substitutions.SubstitutionsView.as_view(), name="substitutions"),
    path("substitutions/<id:absence_id>/", substitutions.SubstitutionView.as_view(), name="substitution"),
    path("tokens/", people.TokensView.as_view(), name="tokens"),
    path("tokens/<slug:key>/", people.TokenView.as_view(), name="token"),
    path("stats/", people.StatsView.as_view(), name="stats"),
    path("stream/", stream.StreamView.as_view(), name="stream"),
    path("schema/", SchemaView.as_view(), name="schema"),
    path("docs/", DocsView.as_view(), name="docs"),
    path("health/", HealthView.as_view(), name="health"),
    path("<path:anywhere>", NothingHere.as_view()),
]
