"""Name the app to Django."""

from django.apps import AppConfig


class TasksInboxConfig(AppConfig):
    name = "tasks_inbox"
    verbose_name = "Inbox"

    def ready(self) -> None:
        """Register how messages look: the part that sends them does not know."""
        from engine.dispatch.notifications import CHANNELS  # noqa: PLC0415
        from engine.models.notification import CHATS  # noqa: PLC0415
        from tasks_inbox.notices.chat import send_chat_message  # noqa: PLC0415
        from tasks_inbox.notices.mail import send_mail_message  # noqa: PLC0415
        from tasks_inbox.notices.push import send_push_message  # noqa: PLC0415

        CHANNELS.update(mail=send_mail_message, push=send_push_message)
        CHANNELS.update(dict.fromkeys(CHATS, send_chat_message))
