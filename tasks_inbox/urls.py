"""Addresses of the inbox."""

from django.urls import include, path

from tasks_inbox.views import (
    bulk,
    drafts,
    filters,
    instances,
    lists,
    live,
    start,
    started,
    task_actions,
    task_files,
    tasks,
)

task_routes = [
    path("", tasks.show, name="task"),
    path("live/", live.task_news, name="task_live"),
    path("claim/", tasks.claim, name="claim"),
    path("release/", tasks.release, name="release"),
    path("complete/", tasks.complete, name="complete"),
    path("draft/", drafts.save, name="draft"),
    path("draft/discard/", drafts.discard, name="discard_draft"),
    path("comment/", task_actions.comment, name="comment"),
    path("assign/", task_actions.assign, name="assign"),
    path("suspend/", task_actions.suspend, name="suspend"),
    path("resume/", task_actions.resume, name="resume"),
    path("snooze/", task_actions.snooze, name="snooze"),
    path("skip/", task_actions.skip, name="skip"),
    path("files/", task_files.add, name="add_file"),
    path("files/<uuid:attachment_id>/", task_files.fetch, name="file"),
    path("files/<uuid:attachment_id>/remove/", task_files.take_away, name="remove_file"),
]

app_name = "inbox"
urlpatterns = [
    path("", lists.task_list, name="mine"),
    path("started/", started.started, name="started"),
    path("start/", start.gallery, name="start"),
    path("start/<slug:name>/", start.form, name="start_form"),
    path("next/", bulk.take_next, name="next"),
    path("bulk/", bulk.act, name="bulk"),
    path("together/", bulk.together, name="together"),
    path("filters/", filters.save, name="save_filter"),
    path("filters/<uuid:filter_id>/remove/", filters.remove, name="remove_filter"),
    path("filters/<uuid:filter_id>/restore/", filters.restore, name="restore_filter"),
    path("live/", live.news, name="live"),
    path("tasks/<uuid:task_id>/", include(task_routes)),
    path("instances/<uuid:instance_id>/", instances.show, name="instance"),
    path("instances/<uuid:instance_id>/<slug:name>/", instances.act, name="instance_act"),
]
