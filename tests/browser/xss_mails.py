"""The HTML mails about rows that hold payloads, as they are handed to the mail server, but for the logo inside them."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

from django.conf import settings

from engine.models import Notification
from engine.models.base import NEVER
from engine.services.notifications.preferences import preferences_of
from engine.services.notifications.sending import Message
from tasks_inbox.notices.mail import LOGO, compose
from workflowplatform.accounts.models import User
from workflowplatform.ids import uuid7

PARTS = frozenset({"button.html", "frame.html"})
"""Pages that others are made of."""


def mails_to(name: str) -> dict[str, str]:
    """Compose every mail that a person would get: one about each thing, one about many, the daily digest."""
    person = User.objects.get(username=name)
    rows = tuple(Notification.objects.filter(person=person, channel="mail"))
    messages = {f"notice.html: {row.kind}": Message(uuid7(), "mail", "single", (row,), NEVER) for row in rows}
    messages["digest.html: many"] = Message(uuid7(), "mail", "many", rows, NEVER)
    messages["digest.html: daily"] = Message(uuid7(), "mail", "digest", rows, NEVER)
    wishes = preferences_of([person])[person.pk]
    letters = {name: compose(message, person, wishes) for name, message in messages.items()}
    return {name: _with_logo(letter.html) for name, letter in letters.items() if letter}


def _with_logo(html: str) -> str:
    """Put the picture where a mail program would."""
    picture = b64encode((Path(settings.BASE_DIR) / "static/img/mail_logo.png").read_bytes()).decode()
    assert f"cid:{LOGO}" in html
    return html.replace(f"cid:{LOGO}", f"data:image/png;base64,{picture}")


def pages_without_a_mail(mails: dict[str, str]) -> set[str]:
    """Return the HTML pages of mails that none of these shows."""
    written = {page.name for page in (Path(settings.BASE_DIR) / "templates/mails").glob("*.html")}
    return written - PARTS - {name.partition(":")[0] for name in mails}
