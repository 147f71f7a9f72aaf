"""The JSON API of the editor: each URL calls one service and saves nothing."""

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, JsonResponse
from django.urls import URLPattern, path
from django.views.decorators.http import require_GET, require_POST

from engine import access
from engine.admin.descriptions import moment_words
from engine.admin.permissions import actor_of
from engine.errors import NotFound, Refused, WorkflowError
from engine.services.templates import editor as authoring
from engine.services.templates.versions import last_saved_by
from workflowplatform.accounts.actor import Actor

Asked = dict[str, Any]
STATUS = ((NotFound, 404), (Refused, 403), (WorkflowError, 400))


def editor_urls(site: Any) -> list[URLPattern]:
    posted = {"look": look, "picture": picture, "tests": tests}
    return [
        path("words/", site.admin_view(require_GET(words)), name="engine_templateversion_words"),
        *(
            path(f"{name}/", site.admin_view(require_POST(_asked(answer))), name=f"engine_templateversion_{name}")
            for name, answer in posted.items()
        ),
    ]


def words(request: HttpRequest) -> JsonResponse:
    """Return the words that the editor can complete."""
    return _answered(lambda: authoring.words_to_complete(actor=actor_of(request)))


def look(actor: Actor, asked: Asked) -> Asked:
    """Check the text, and report whether another person saved the draft meanwhile."""
    seen = authoring.look_at_source(actor=actor, source=_source(asked))
    findings = [finding.as_json() for finding in seen.findings]
    return {
        "findings": findings,
        "places": {name: asdict(place) for name, place in seen.places.items()},
        "graph": seen.graph,
        "outline": seen.outline,
        "newer": _newer(actor, asked),
    }


def picture(actor: Actor, asked: Asked) -> Asked:
    """Draw the diagram that the browser laid out."""
    return {"svg": authoring.draw_source(actor=actor, source=_source(asked), laid_out=asked.get("graph"))}


def tests(actor: Actor, asked: Asked) -> Asked:
    """Run the tests in the text."""
    found = authoring.test_source(actor=actor, source=_source(asked))
    return {
        "tests": [
            {
                "name": one.report.name,
                "passed": one.report.passed,
                "words": one.words,
                "line": one.line,
            }
            for one in found
        ]
    }


def _newer(actor: Actor, asked: Asked) -> str:
    """Report who saved this draft since it was opened; empty: no one."""
    try:
        version = access.visible_versions(actor).filter(pk=UUID(str(asked.get("version")))).first()
    except ValueError:
        return ""
    if version is None or version.revision == asked.get("revision"):
        return ""
    return f"{last_saved_by(version).capitalize()} saved this draft {moment_words(version.updated_at)}."


def _source(asked: Asked) -> str:
    source = asked.get("source")
    return source if isinstance(source, str) else ""


def _asked(answer: Callable[[Actor, Asked], Asked]) -> Callable[[HttpRequest], JsonResponse]:
    def view(request: HttpRequest) -> JsonResponse:
        try:
            asked = json.loads(request.body)
        except (ValueError, RecursionError, RequestDataTooBig):
            return JsonResponse({"message": "The request could not be read; it may be too long."}, status=400)
        if not isinstance(asked, dict):
            return JsonResponse({"message": "The request must be a JSON object."}, status=400)
        return _answered(lambda: answer(actor_of(request), asked))

    return view


def _answered(answer: Callable[[], Asked]) -> JsonResponse:
    try:
        return JsonResponse(answer())
    except WorkflowError as refusal:
        status = next(status for kind, status in STATUS if isinstance(refusal, kind))
        return JsonResponse({"message": refusal.message}, status=status)
