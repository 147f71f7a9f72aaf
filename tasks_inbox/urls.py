"""Addresses of the inbox."""

from django.urls import path

from tasks_inbox.views import instances, lists, start, tasks

app_name = "inbox"
urlpatterns = [
    path("", lists.task_list, name="mine"),
    path("started/", lists.started, name="started"),
    path("start/", start.gallery, name="start"),
    path("start/<slug:name>/", start.form, name="start_form"),
    path("tasks/<uuid:task_id>/", tasks.show, name="task"),
    path("tasks/<uuid:task_id>/claim/", tasks.claim, name="claim"),
    path("tasks/<uuid:task_id>/release/", tasks.release, name="release"),
    path("tasks/<uuid:task_id>/complete/", tasks.complete, name="complete"),
    path("instances/<uuid:instance_id>/", instances.show, name="instance"),
]
