"""A case on paper: a page to print or to save as PDF, and its signed receipt."""

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from engine import access
from engine.services.audit.receipts import make_receipt, receipt_name
from tasks_inbox.decorators import InboxRequest, inbox_page
from tasks_inbox.presenters.printed_case import printed_case


@require_GET
@inbox_page
def show(request: InboxRequest, instance_id: UUID) -> HttpResponse:
    """Show a case black on white, as it is printed."""
    instance = access.instance_of(request.actor, instance_id)
    return render(request, "inbox/print.html", {"instance": instance, "case": printed_case(request.actor, instance)})


@require_GET
@inbox_page
def receipt(request: InboxRequest, instance_id: UUID) -> HttpResponse:
    """Hand out the signed receipt of a case."""
    instance = access.instance_of(request.actor, instance_id)
    text = make_receipt(actor=request.actor, instance_id=instance.pk)
    named = {"Content-Disposition": f'attachment; filename="{receipt_name(instance)}"', "Cache-Control": "no-store"}
    return HttpResponse(text, content_type="application/json", headers=named)
