"""Keep an answer that was sent after the session ended until the person signs in again: nothing typed is lost.

It is stored in the session of the browser that sent it. The form names its person, signed; nobody else gets to see it.
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
    return keep_for(request, page, request.POST.get(WHOSE, ""))


def keep_for(request: HttpRequest, page: str, owner: str) -> str:
    """Keep what was sent for a page and the person whose form it was."""
    sent = request.POST.copy()
    sent.pop(TOKEN, None)
    sent[WHOSE] = owner
    text = sent.urlencode()
    if sent.get(WHOSE) and len(text) <= LARGEST:
        request.session[KEPT] = {"page": page, "sent": text}
    return page


def take_kept_answer(request: HttpRequest, person_id: Any) -> QueryDict | None:
    """Return what was kept for this page and person, once."""
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
