"""Push messages for one browser: on, off, a test, and the script that shows them while no page is open."""

from pathlib import Path

from django.conf import settings
from django.http import HttpResponse, JsonResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from engine.errors import Invalid
from engine.services.notifications.push import browsers_of, subscribe, unsubscribe
from engine.transports.outcomes import Succeeded
from tasks_inbox.decorators import InboxRequest, inbox_page, posted_line
from tasks_inbox.notices.push import push_to
from workflowplatform.ids import uuid7

BROWSERS = ("Edg/Edge", "OPR/Opera", "Firefox/Firefox", "Chrome/Chrome", "Safari/Safari")
SYSTEMS = ("iPhone/iPhone", "iPad/iPad", "Android/Android", "Windows/Windows", "Mac OS/Mac", "Linux/Linux")


@require_POST
@inbox_page
def on(request: InboxRequest) -> HttpResponse:
    """Push to this browser from now on."""
    names = ("endpoint", "public_key", "auth")
    browser = browser_words(request.headers.get("User-Agent", ""))
    try:
        subscribe(actor=request.actor, browser=browser, **{name: posted_line(request, name) for name in names})
    except Invalid as refusal:
        return JsonResponse({"code": refusal.first_code, "message": refusal.message}, status=400)
    return HttpResponse(status=204)


@require_POST
@inbox_page
def off(request: InboxRequest) -> HttpResponse:
    """Push to this browser no more."""
    unsubscribe(actor=request.actor, endpoint=posted_line(request, "endpoint"))
    return HttpResponse(status=204)


@require_POST
@inbox_page
def test(request: InboxRequest) -> HttpResponse:
    """Send a test to the person's browsers."""
    content = {
        "title": _("It works"),
        "body": _("Messages from Workflow look like this."),
        "url": "/inbox/",
        "tag": "test",
    }
    assert request.actor.person_id is not None
    results = [push_to(browser, content, str(uuid7())) for browser in browsers_of(request.actor.person_id)]
    arrived = any(isinstance(result, Succeeded) for result in results)
    return JsonResponse({"code": "sent" if arrived else "unsent"})


@require_GET
@inbox_page
def worker(request: InboxRequest) -> HttpResponse:
    """Serve the script that shows messages; it works for the addresses below its own."""
    script = (Path(settings.BASE_DIR) / "static/js/push_worker.js").read_text(encoding="utf-8")
    return HttpResponse(script, content_type="text/javascript; charset=utf-8")


def browser_words(agent: str) -> str:
    """Name a browser and its system, as people know them."""
    found = [
        next((name for mark, _slash, name in (one.partition("/") for one in known) if mark in agent), "")
        for known in (BROWSERS, SYSTEMS)
    ]
    return " · ".join(part for part in found if part)
