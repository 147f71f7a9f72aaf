"""Name the app to Django."""

from django.apps import AppConfig


class TasksInboxConfig(AppConfig):
    name = "tasks_inbox"
    verbose_name = "Inbox"
