"""Keep what somebody sent after they had been signed out, until they are back: nothing typed is lost.

It lies in the session of the browser that sent it. The form says, signed, whose it was; nobody else gets to see it.
"""

import re
from typing import Any

from django.core import signing
from django.http import HttpRequest, QueryDict
from django.urls import reverse

KEPT = "kept_answer"
WHOSE = "whose"
SALT = "inbox.kept"
LARGEST = 60_000
OF_A_TASK = re.compile(r"^(.*/tasks/[0-9a-f-]{36}/)")
TOKEN = "csrfmiddlewaretoken"  # noqa: S105


def whose(person_id: Any) -> str:
    """Write whose form this is, so that nobody can claim another's."""
    return signing.dumps(str(person_id), salt=SALT)


def keep_sent(request: HttpRequest) -> str:
    """Keep what was sent, and say to which page one returns."""
    found = OF_A_TASK.match(request.path)
    page = found[1] if found else request.path if "/start/" in request.path else reverse("inbox:mine")
    sent = request.POST.copy()
    sent.pop(TOKEN, None)
    text = sent.urlencode()
    if sent.get(WHOSE) and len(text) <= LARGEST:
        request.session[KEPT] = {"page": page, "sent": text}
    return page


def take_kept(request: HttpRequest, person_id: Any) -> QueryDict | None:
    """Give back what was kept for this page and person, once."""
    kept = request.session.get(KEPT) if request.method == "GET" else None
    if not kept or kept.get("page") != request.path:
        return None
    del request.session[KEPT]
    sent = QueryDict(kept["sent"])
    try:
        owner = signing.loads(sent.get(WHOSE, ""), salt=SALT)
    except signing.BadSignature:
        return None
    return sent if owner == str(person_id) else None
