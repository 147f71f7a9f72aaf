"""More pages of a version (changes, versions, downloads), and the pages that create templates (gallery, import)."""

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.admin.utils import quote, unquote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.views.decorators.http import require_http_methods

from engine import access
from engine.admin.authoring.source_lines import shown
from engine.admin.authoring.version_actions import is_draft
from engine.admin.permissions import actor_of
from engine.errors import NotFound, Refused, WorkflowError
from engine.gallery import gallery
from engine.kernel.language.source import read_documents
from engine.kernel.transitions import VersionStatus
from engine.models import TemplateVersion
from engine.services.templates import creation, exports
from engine.services.templates import editor as authoring
from workflowplatform.accounts.levels import TO_AUTHOR

TABS = (("change", "Write"), ("try", "Try it"), ("forms", "Forms"), ("changes", "Changes"), ("versions", "Versions"))
NAME = "admin:engine_templateversion_"


@dataclass(frozen=True, slots=True)
class Tab:
    words: str
    url: str
    here: bool
    count: int | None = None


def tabs_of(version: TemplateVersion, here: str, **counts: int) -> list[Tab]:
    return [
        Tab(words, reverse(f"{NAME}{name}", args=[quote(version.pk)]), name == here, counts.get(name))
        for name, words in TABS
    ]


def page_urls(page: Any) -> list[URLPattern]:
    """Return the URLs of these pages for the ModelAdmin of versions."""
    own = {"changes": changes, "versions": versions, "export": export}
    view = page.admin_site.admin_view
    return [
        *(page_url(page, name, made, ["GET"]) for name, made in own.items()),
        path("gallery/", view(require_http_methods(["GET", "POST"])(from_gallery(page))), name=f"{PREFIX}_gallery"),
        path("import/", view(require_http_methods(["GET", "POST"])(from_file(page))), name=f"{PREFIX}_import"),
    ]


def page_url(page: Any, name: str, made: Any, methods: list[str]) -> URLPattern:
    view = page.admin_site.admin_view(require_http_methods(methods)(of_version(page, made)))
    return path(f"<path:object_id>/{name}/", view, name=f"{PREFIX}_{name}")


PREFIX = "engine_templateversion"


def of_version(page: Any, made: Any) -> Any:
    """Find the version first: one of another tenant gives the same answer as a missing one."""

    def view(request: HttpRequest, object_id: str) -> HttpResponse:
        version = page.get_object(request, unquote(object_id))
        if version is None:
            raise Http404
        try:
            answer: HttpResponse = made(page, request, version)
        except NotFound as gone:
            raise Http404 from gone
        except Refused as refusal:
            raise PermissionDenied(refusal.message) from refusal
        return answer

    return view


def frame(page: Any, request: HttpRequest, version: TemplateVersion, here: str, **counts: int) -> dict[str, Any]:
    """Return what every page of a version shows at the top: its title, status and tabs."""
    others = access.visible_versions(actor_of(request)).filter(template=version.template_id)
    return {
        **page.admin_site.each_context(request),
        "title": str(version.template),
        "opts": page.opts,
        "original": version,
        "wf_version": version,
        "wf_active": others.active().exclude(pk=version.pk).first(),
        "wf_tabs": tabs_of(version, here, **{"versions": others.count(), **counts}),
        "wf_authors": actor_of(request).level >= TO_AUTHOR,
    }


def changes(page: Any, request: HttpRequest, version: TemplateVersion) -> HttpResponse:
    """Show what a draft changes and what prevents its activation."""
    actor = actor_of(request)
    ready = authoring.readiness_of(actor=actor, name=version.template.name, number=version.number)
    context = frame(page, request, version, "changes", changes=len(ready.differences)) | {
        "wf_ready": ready,
        "wf_findings": shown(ready.findings),
        "wf_missing": missing_words(ready.errors, ready.red),
        "wf_can_activate": is_draft(actor, version) and actor.level >= TO_AUTHOR,
    }
    return TemplateResponse(request, "admin/authoring/changes.html", context)


def missing_words(errors: int, red: int) -> str:
    """Describe what must be fixed before activation; empty: nothing."""
    parts = [
        f"{number} {word}{'s' if number > 1 else ''}" for number, word in ((errors, "error"), (red, "test")) if number
    ]
    return f"Fix {' and '.join(parts)} before you activate." if parts else ""


def versions(page: Any, request: HttpRequest, version: TemplateVersion) -> HttpResponse:
    """List all versions with their history, and how many instances run on each."""
    rows = access.visible_versions(actor_of(request)).filter(template=version.template_id).order_by("-number")
    live = access.visible_instances(actor_of(request)).filter(template=version.template_id).live()
    counts: dict[Any, int] = {}
    for pk in live.order_by().values_list("version_id", flat=True):
        counts[pk] = counts.get(pk, 0) + 1
    context = frame(page, request, version, "versions") | {"wf_rows": [(row, counts.get(row.pk, 0)) for row in rows]}
    return TemplateResponse(request, "admin/authoring/versions.html", context)


def export(page: Any, request: HttpRequest, version: TemplateVersion) -> HttpResponse:
    """Download a version as a file."""
    form = request.GET.get("format", "yaml")
    try:
        made = exports.export_version(
            actor=actor_of(request), name=version.template.name, number=version.number, form=form
        )
    except NotFound as gone:
        raise Http404 from gone
    except WorkflowError as refusal:
        messages.error(request, refusal.message, extra_tags=refusal.code)
        return redirect(f"{NAME}versions", quote(version.pk))
    answer = HttpResponse(made.text, content_type=made.content_type)
    answer["Content-Disposition"] = f'attachment; filename="{made.name}"'
    return answer


@dataclass(frozen=True, slots=True)
class Card:
    name: str
    title: str
    description: str
    tags: tuple[str, ...]
    steps: int


def cards() -> list[Card]:
    found = [(name, read_documents(source)[0].plain()) for name, source in gallery().items()]
    return [
        Card(
            name,
            document.get("title", name),
            document.get("description", ""),
            tuple(document.get("tags", ())),
            len(document["steps"]),
        )
        for name, document in found
    ]


def from_gallery(page: Any) -> Any:

    def view(request: HttpRequest) -> HttpResponse:
        if not page.has_add_permission(request):
            raise PermissionDenied
        if request.method == "POST":
            return _copied(request, page, request.POST.get("name", ""))
        context = {**page.admin_site.each_context(request), "title": "Gallery", "wf_cards": cards()}
        return TemplateResponse(request, "admin/authoring/gallery.html", context)

    return view


def _copied(request: HttpRequest, page: Any, name: str) -> HttpResponse:
    try:
        version = creation.begin_from_gallery(actor=actor_of(request), name=name)
    except NotFound as gone:
        raise Http404 from gone
    words = f"{version.template} is copied from the gallery. Adapt it to your needs."
    messages.success(request, words, extra_tags="template.copied")
    return redirect(f"{NAME}change", quote(version.pk))


def from_file(page: Any) -> Any:

    def view(request: HttpRequest) -> HttpResponse:
        if not page.has_add_permission(request):
            raise PermissionDenied
        text, refusal, code, findings = request.POST.get("text", ""), "", "", ()
        if request.method == "POST":
            try:
                text = _uploaded(request) or text
                together = "activate" in request.POST
                made = creation.import_documents(actor=actor_of(request), text=text, activate=together)
            except UnicodeDecodeError:
                refusal, code = "This file is not UTF-8 text. Nothing was imported.", "encoding"
            except WorkflowError as problem:
                refusal, code, findings = problem.message, problem.code, getattr(problem, "findings", ())
            else:
                return _imported(request, made)
        context = {**page.admin_site.each_context(request), "title": "Import"}
        context |= {"wf_text": text, "wf_refusal": refusal, "wf_refusal_code": code, "wf_findings": findings}
        return TemplateResponse(request, "admin/authoring/import.html", context, status=400 if refusal else 200)

    return view


def _uploaded(request: HttpRequest) -> str:
    file = request.FILES.get("file")
    return file.read(creation.LONGEST_IMPORT * 4 + 1).decode("utf-8-sig") if file else ""


def _imported(request: HttpRequest, made: list[TemplateVersion]) -> HttpResponse:
    words = ", ".join(f"version {version.number} of {version.template}" for version in made)
    drafts = any(version.status == VersionStatus.DRAFT for version in made)
    how = ("as a draft" if len(made) == 1 else "as drafts") if drafts else "and activated"
    messages.success(request, f"Imported {how}: {words}.", extra_tags="template.imported")
    if len(made) == 1:
        return redirect(f"{NAME}change", quote(made[0].pk))
    return redirect("admin:engine_template_changelist")
