"""Pages that start a request: the gallery of templates, and the form of one."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID, uuid4

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from engine import access
from engine.db.transactions import in_one_transaction
from engine.errors import Conflict, Invalid, NotFound
from engine.kernel.signals import Json
from engine.kernel.tasks.answers import USUAL
from engine.models import StartDraft, TemplateVersion
from engine.presentation.forms.form import StartForm
from engine.presentation.narrative.people_path import stops_ahead
from engine.presentation.narrative.step_outline import outline_of
from engine.runtime.claims import version_to_start
from engine.services.idempotency import KeyedRequest, digest_of
from engine.services.insights.durations import usual_task_times
from engine.services.instances.lifecycle import StartedInstance, input_errors, start_instance
from engine.services.instances.start_drafts import ROUTE, add_start_file, hand_over_draft, refuse_missing_files
from tasks_inbox.decorators import InboxRequest, inbox_page, toast
from tasks_inbox.messages import back_again, notice_of
from tasks_inbox.presenters.field_labels import input_schema_of
from tasks_inbox.presenters.files import rules_shown, shown_file
from tasks_inbox.presenters.start_gallery import cards_for, sections_of, tags_of
from tasks_inbox.templatetags.look import case_name
from tasks_inbox.unsent_answers import take_kept_answer, whose
from workflowplatform.accounts.actor import Actor

LONGEST_NUMBER = 64
FOUND = 303


@require_GET
@inbox_page
def gallery(request: InboxRequest) -> HttpResponse:
    """Show what the person may start: what they used first, then by tag."""
    cards = cards_for(request.actor)
    words, tag = request.GET.get("q", "").strip(), request.GET.get("tag", "")
    context = {
        "place": "start",
        "sections": sections_of([card for card in cards if card.fits(words, tag)]),
        "count": len(cards),
        "tags": tags_of(cards),
        "tag": tag,
        "words": words,
    }
    return render(request, "inbox/gallery.html", context)


@require_http_methods(["GET", "POST"])
@inbox_page
def form(request: InboxRequest, name: str) -> HttpResponse:
    """Show a template's start form, or start it."""
    try:
        version = version_to_start(request.actor, name).version
    except Conflict as refusal:
        return render(request, "inbox/task_gone.html", {"place": "start", "notice": notice_of(refusal)}, status=409)
    if request.method == "GET":
        return _begin(request, version)
    shown = read_start(request, version)
    if shown.asks_for_rows:
        return start_page(request, version, shown.begun_again())
    return _start(request, version, shown) if shown.is_valid() else _all_that_is_wrong(request, version, shown)


def _begin(request: InboxRequest, version: TemplateVersion) -> HttpResponse:
    """Show the form: empty, with a draft, or with what was sent after the session ended; first ask about drafts there are."""
    kept = take_kept_answer(request, request.actor.person_id)
    if kept is not None:
        again = start_form(version, kept).begun_again()
        return start_page(request, version, again, once=kept.get("once", ""), notice=back_again())
    earlier = _begun(request, version)
    if earlier:
        return start_page(request, version, start_form(version, draft=earlier))
    drafts = list(access.start_drafts(request.actor).filter(template_id=version.template_id))
    wanted = request.GET.get("draft", "")
    draft = next((one for one in drafts if one.number == wanted), None)
    if draft is not None:
        return start_page(request, version, start_form(version, draft=draft.values), once=draft.number, draft=draft)
    if drafts and "new" not in request.GET:
        return _ask_about(request, version, drafts)
    return start_page(request, version, start_form(version))


def _ask_about(request: InboxRequest, version: TemplateVersion, drafts: Sequence[StartDraft]) -> HttpResponse:
    """Ask whether to continue a draft: a new form without it would not say that there is one."""
    shown = [(draft, start_form(version, draft=draft.values).preview()) for draft in drafts]
    return render(request, "inbox/start_drafts.html", {"place": "start", "version": version, "drafts": shown})


def start_form(version: TemplateVersion, data: Any = None, draft: Mapping[str, Json] | None = None) -> StartForm:
    """Return a version's start form: as it was sent, else as a draft has it."""
    return StartForm(input_schema_of(version), data, draft=draft)


def read_start(request: InboxRequest, version: TemplateVersion) -> StartForm:
    """Read the form as it was sent. Files that came in its fields are added first; a wrong one is told at its field."""
    shown = start_form(version, request.POST)
    sent = {name: request.FILES.getlist(name) for name in shown.file_names() if name in request.FILES}
    if not sent:
        return shown
    data, wrong, number = request.POST.copy(), {}, once_of(request)
    for name, file in ((name, file) for name, files in sent.items() for file in files):
        try:
            added = add_start_file(
                actor=request.actor, version=version, number=number, name=file.name or "", content=file
            )
            data.appendlist(name, added.name)
        except (Invalid, Conflict) as refusal:
            code = refusal.first_code if isinstance(refusal, Invalid) else refusal.code
            wrong[name] = ValidationError(refusal.message, code=code)
    shown = start_form(version, data)
    for name, error in wrong.items():
        shown.add_error(name, error)
    return shown


def once_of(request: InboxRequest) -> str:
    """Return the number of the form that was sent: it starts once, and its draft and files are known by it."""
    return request.POST.get("once", "")[:LONGEST_NUMBER]


def _all_that_is_wrong(request: InboxRequest, version: TemplateVersion, shown: StartForm) -> HttpResponse:
    """Show besides what could not be read all that the service would refuse, so that nobody corrects twice."""
    shown.take_errors(input_errors(version, shown.values()))
    return start_page(request, version, shown, status=400)


def _begun(request: InboxRequest, version: TemplateVersion) -> dict[str, Json]:
    """Begin with what an earlier request of the same workflow was started with, where the address names one."""
    try:
        earlier = access.instance_of(request.actor, UUID(request.GET.get("again", "")))
    except (ValueError, NotFound):
        return {}
    same = earlier.template_id == version.template_id and earlier.started_by_id == request.actor.person_id
    return dict(earlier.input) if same and isinstance(earlier.input, dict) else {}


def _start(request: InboxRequest, version: TemplateVersion, shown: StartForm) -> HttpResponse:
    try:
        started = _start_once(request.actor, version, shown.values(), once_of(request))
    except Invalid as refusal:
        shown.take_errors(refusal.errors)
        return start_page(request, version, shown, status=400)
    except Conflict as refusal:
        return start_page(request, version, shown, status=409, notice=notice_of(refusal))
    return _show_started(request, started)


@in_one_transaction
def _start_once(actor: Actor, version: TemplateVersion, values: dict[str, Json], number: str) -> StartedInstance | UUID:
    """Start an instance; the same form sent again with the same values returns the id of the first one's instance.

    Other values in the same form, sent after going back to it, are another start.
    """
    template = version.template.name
    if not number:
        refuse_missing_files(actor=actor, version=version, number=number, values=values)
        return start_instance(actor=actor, template=template, input=values)
    digest = digest_of(values)
    keyed = KeyedRequest(actor, ROUTE.format(template=template), f"{number}:{digest}", digest)
    kept = keyed.kept_answer()
    if kept is not None:
        return UUID(kept[1])
    refuse_missing_files(actor=actor, version=version, number=number, values=values)
    started = start_instance(actor=actor, template=template, input=values)
    hand_over_draft(actor=actor, version=version, number=number, instance=started.instance)
    keyed.keep_answer(FOUND, str(started.instance.pk))
    return started


def _show_started(request: InboxRequest, started: StartedInstance | UUID) -> HttpResponse:
    """Open the first task that is the starter's own, else the instance."""
    if isinstance(started, UUID):
        toast(request, "instance.started_before", _("You already started this. Here it is."), level=messages.INFO)
        return redirect("inbox:instance", instance_id=started)
    instance = started.instance
    words = _("%(what)s started.") % {"what": case_name(instance)}
    toast(request, "instance.started", words)
    own = [task for task in started.tasks if task.assignee_id == request.actor.person_id]
    if own:
        return redirect("inbox:task", task_id=own[0].pk)
    return redirect("inbox:instance", instance_id=instance.pk)


def start_page(
    request: InboxRequest,
    version: TemplateVersion,
    shown: StartForm,
    *,
    status: int = 200,
    notice: Any = None,
    once: str = "",
    draft: StartDraft | None = None,
) -> HttpResponse:
    """Show the start form."""
    number = once or once_of(request) or uuid4().hex
    files = access.start_files(request.actor, version, number) if shown.takes_files else ()
    name = version.template.name
    outline = outline_of(version.canonical, ())
    usual = usual_task_times(actor=request.actor, template_id=version.template_id, now=timezone.now())
    context = {
        "place": "start",
        "version": version,
        "form": shown,
        "once": number,
        "whose": whose(request.actor.person_id),
        "draft": draft,
        "keeps_drafts": not request.actor.crosses,
        "files_by_name": {
            file.name: shown_file(file, reverse("inbox:start_file", args=[name, file.pk])) for file in files
        },
        "upload": reverse("inbox:start_files", args=[name]),
        "file_rules": rules_shown(USUAL),
        "outline": outline,
        "stops": stops_ahead(outline, version.canonical, usual),
        "notice": notice,
    }
    return render(request, "inbox/start.html", context, status=status)
