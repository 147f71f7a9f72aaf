"""Deliver webhooks while a worker drains: never in a request, never in the way of a signal.

A worker that looks for work also looks, every second while there is a webhook, for events to deliver, and lets a thread of its
own do that: collect, take on, POST with no transaction open, settle. Meanwhile it keeps draining. The thread holds no state that
could be lost: if it ends with its worker, the deliveries it had in hand are due again.
"""

import threading
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import structlog
from django.db import connection

from engine.kernel.expressions.secret_redaction import Hider
from engine.services.webhooks.deliveries import (
    LONGEST_ANSWER,
    TIMEOUT_SECONDS,
    DeliveryResult,
    Try,
    collect,
    forget_old,
    look_for_work,
    secrets_of,
    settle,
    take_on,
)
from engine.storage.encryption import UnreadableSecret
from engine.transports.base import Failed, hide_secrets, make_call
from engine.transports.webhook_signature import PREFIX, signed_headers
from workflowplatform.database.tenancy import crossing

log = structlog.get_logger(__name__)

EVERY, IDLE = 1.0, 5.0
"""Seconds between looks, and how long a worker may sleep while there is no active webhook."""
MAX_SECONDS = 60.0
TIDY_EVERY = 3600.0


class WebhookSender:
    """One worker's share in sending webhooks."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._next_look = 0.0
        self._next_tidying = time.monotonic() + TIDY_EVERY
        self.every = IDLE
        """How long its worker may sleep."""

    def look(self) -> None:
        """Start a thread when it is time and there is something to send."""
        if time.monotonic() < self._next_look or (self._thread is not None and self._thread.is_alive()):
            return
        anybody, something = look_for_work()
        self.every = EVERY if anybody else IDLE
        self._next_look = time.monotonic() + EVERY
        if something or time.monotonic() >= self._next_tidying:
            self._next_tidying = time.monotonic() + TIDY_EVERY
            self._thread = threading.Thread(target=_run, name="webhooks", daemon=True)
            self._thread.start()


@crossing("background")
def _run() -> None:
    """Send what is due and delete old deliveries, then close the connection; a later look retries what fails."""
    try:
        send_webhooks()
        forget_old()
    except Exception:
        log.exception("webhooks could not be sent, looking again")
    finally:
        connection.close()


def send_webhooks() -> int:
    """Collect and send until nothing is due; return how many tries were made."""
    stop_at, made = time.monotonic() + MAX_SECONDS, 0
    collect()
    while (tries := take_on()) and time.monotonic() < stop_at:
        made += len(tries)
        _send(tries)
    return made


def _send(tries: Sequence[Try]) -> None:
    """Make some tries side by side and settle each as soon as its answer is there."""
    threads = [threading.Thread(target=_make, args=[one], daemon=True) for one in tries]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@crossing("background")
def _make(one: Try) -> None:
    try:
        settle(one, post(one))
    except Exception:
        log.exception("what came of a delivery could not be written, it will be sent again")
    finally:
        connection.close()


def post(one: Try) -> DeliveryResult:
    """Send one message, signed now; nothing but an answer in 200 to 299 is good, and no redirect is followed."""
    try:
        secrets = secrets_of(one)
        signed = signed_headers(secrets, str(one.delivery_id), int(time.time()), one.body)
    except UnreadableSecret:
        return DeliveryResult(None, "Its secret was written under another SECRET_KEY: give it a new one.")
    request = {
        "method": "POST",
        "url": one.url,
        "headers": {"content-type": "application/json", **signed},
        "body": one.body,
    }
    result = make_call(
        "http",
        request,
        key=str(one.delivery_id),
        timeout_seconds=TIMEOUT_SECONDS,
        http_allow=one.http_allow,
        redirects=False,
    )
    result = hide_secrets(result, _hider(secrets))
    return _answer(result.value, result.message if isinstance(result, Failed) else "")


def _hider(secrets: Sequence[str]) -> Hider:
    """Hide what both sides sign with, should the other side answer with it."""
    shared = [form for secret in secrets for form in (secret, secret.removeprefix(PREFIX))]
    return Hider({f"of this webhook {number}": secret for number, secret in enumerate(shared)})


def _answer(value: Any, error: str) -> DeliveryResult:
    if not isinstance(value, dict):
        return DeliveryResult(None, error)
    status, body = value["status"], value["body"]
    if 300 <= status < 400:
        error = f"The answer was {status}; redirects are not followed."
    text = "" if body is None else body if isinstance(body, str) else str(body)
    return DeliveryResult(status, error, text[:LONGEST_ANSWER], _retry_after(value["headers"]))


def _retry_after(headers: dict[str, str]) -> timedelta | None:
    """Read how long the other side asks to be left alone; a date is not read."""
    text = headers.get("retry-after", "")
    return timedelta(seconds=int(text)) if text.isascii() and text.isdigit() and len(text) < 8 else None
