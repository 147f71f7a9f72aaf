"""Send notifications while a worker drains, in a thread of its own, as webhooks are sent.

How a message looks is not known here: the inbox registers how each channel is written (`CHANNELS`).
"""

import threading
import time
from collections.abc import Callable

import structlog
from django.db import connection

from engine.services.notifications.collecting import collect_news, tenants_with_news
from engine.services.notifications.sending import (
    Message,
    Sent,
    forget_old_messages,
    is_anything_due,
    is_still_ours,
    settle_message,
    take_messages,
)
from workflowplatform.database.tenancy import crossing

log = structlog.get_logger(__name__)

EVERY = 2.0
"""Seconds between looks."""
MAX_SECONDS = 60.0
TIDY_EVERY = 3600.0

Channel = Callable[[Message], Sent]
CHANNELS: dict[str, Channel] = {}
"""How each channel sends a message: `tasks_inbox.notices` fills this when the apps are ready."""


class NotificationSender:
    """One worker's share in sending notifications."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._next_look = 0.0
        self._next_tidying = time.monotonic() + TIDY_EVERY
        self.every = EVERY
        """How long its worker may sleep."""

    def look(self) -> None:
        """Start a thread when it is time and there is something to send."""
        if time.monotonic() < self._next_look or (self._thread is not None and self._thread.is_alive()):
            return
        self._next_look = time.monotonic() + EVERY
        tidy = time.monotonic() >= self._next_tidying
        if tidy or is_anything_due() or tenants_with_news():
            self._next_tidying = time.monotonic() + TIDY_EVERY if tidy else self._next_tidying
            self._thread = threading.Thread(target=_run, args=[tidy], name="notifications", daemon=True)
            self._thread.start()


@crossing("background")
def _run(tidy: bool) -> None:
    """Collect and send what is due, then close the connection; a later look retries what fails."""
    try:
        send_notifications()
        if tidy:
            tidy_up()
    except Exception:
        log.exception("notifications could not be sent, looking again")
    finally:
        connection.close()


def send_notifications() -> int:
    """Collect all news, then send what is due; return how many messages were sent."""
    stop_at, made = time.monotonic() + MAX_SECONDS, 0
    collect_news()
    while time.monotonic() < stop_at and (messages := take_messages()):
        for message in messages:
            if is_still_ours(message):
                settle_message(message, _send(message))
                made += 1
    return made


def tidy_up() -> None:
    """Delete old messages until there are none, or for as long as one pass may take."""
    stop_at = time.monotonic() + MAX_SECONDS
    while time.monotonic() < stop_at and forget_old_messages():
        pass


def _send(message: Message) -> Sent:
    """Send one message; whatever a channel raises is a failure that is tried again."""
    send = CHANNELS.get(message.channel)
    if send is None:
        return Sent("dropped", "Nothing here speaks that channel.")
    try:
        return send(message)
    except Exception as error:
        log.exception("a notification was not sent", channel=message.channel, message=str(message.id))
        return Sent("failed", f"{type(error).__name__}", is_sure=False)
