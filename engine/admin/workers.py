"""Workers and queues, for operators of the platform: what runs, what waits, and whether anything is stuck."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext_lazy as _

from engine.admin.permissions import actor_of
from engine.dispatch.rq_status import look_at_workers
from engine.services.health import look_at_services, queue_facts
from workflowplatform.accounts.levels import TO_CROSS_TENANTS

WORDS = {"started": "starting"}
FAULTS = {
    "too busy": _("All connections to the database are in use."),
    "cannot be written": _("The database cannot be written: it is a standby, read-only, or its disk is full."),
    "does not answer": _("The database does not answer."),
    "lacks migrations": _("The database lacks migrations of this release: run manage.py migrate."),
    "no worker is running": _("Work is due and no worker is running: start one."),
}
"""What operators read of the words of the health."""


def workers_page(request: HttpRequest) -> HttpResponse:
    """Show the state of RQ and of the queue in the database. It covers all tenants, so only level 6 sees it."""
    if actor_of(request).level < TO_CROSS_TENANTS:
        raise PermissionDenied
    seen = look_at_workers()
    context: dict[str, Any] = {
        **admin.site.each_context(request),
        "title": "Workers and queues",
        "wf_seen": seen,
        "wf_workers": [(WORDS.get(worker.state, worker.state), worker) for worker in seen.workers],
        "wf_faults": [(part, FAULTS.get(words, words)) for part, words in look_at_services().faults],
        "wf_facts": queue_facts(),
    }
    return TemplateResponse(request, "admin/engine/signal/workers.html", context)
