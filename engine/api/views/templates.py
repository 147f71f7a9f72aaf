"""Templates over REST: save, check, activate, export and delete them."""

from collections.abc import Callable
from typing import Any

from django.db.models import Prefetch, QuerySet
from django.http import HttpResponse
from rest_framework.request import Request
from rest_framework.response import Response

from engine import access
from engine.api.etags import EditedView, matched
from engine.api.filters import narrowed
from engine.api.idempotency import once
from engine.api.pagination import answer_page
from engine.api.request_bodies import ActivateSetBody, DraftBody, NoBody, SimulationBody, SourceBody, read_body
from engine.api.serializers import (
    SavedVersionSerializer,
    TemplateSerializer,
    VersionLineSerializer,
    VersionSerializer,
    in_force,
)
from engine.api.views.base import ApiView
from engine.db.keyset_pagination import BY_NAME
from engine.errors import Invalid, NotFound
from engine.kernel.forms import FieldError
from engine.kernel.language.document_set import cut_documents
from engine.kernel.language.normalizer import Normalized
from engine.models import Template, TemplateVersion
from engine.services.templates import document_sets, simulation
from engine.services.templates import versions as templates
from engine.services.templates.differences import version_differences
from engine.services.templates.exports import export_version


def with_version_in_force(rows: QuerySet[Template]) -> QuerySet[Template]:
    """Read each template with its active or paused version."""
    return rows.prefetch_related(Prefetch("versions", TemplateVersion.objects.in_force(), to_attr="held"))


class TemplatesView(ApiView):
    made = "{name}/versions/{version}/"

    def get(self, request: Request) -> Response:
        """List the templates that you can see."""
        rows = narrowed(request, with_version_in_force(access.visible_templates(self.actor)), {})
        return Response(answer_page(request, rows, BY_NAME, lambda page: TemplateSerializer.write_all(page)))

    @once
    def post(self, request: Request) -> Response:
        """Save a document as a draft, also with findings. Several documents are a set: all are listed in `versions`."""
        source = read_body(request, SourceBody)["source"]
        if len(cut_documents(source)) == 1:
            draft = templates.save_draft(actor=self.actor, source=source)
            return Response(SavedVersionSerializer.write(draft), status=201)
        saved = SavedVersionSerializer.write_all(document_sets.save_set(actor=self.actor, source=source))
        return Response({**saved[0], "versions": saved}, status=201)


class ValidateView(ApiView):
    @once
    def post(self, request: Request) -> Response:
        """Check a document, or a set of several, without saving it."""
        source = read_body(request, SourceBody)["source"]
        if len(cut_documents(source)) == 1:
            return Response(shape_checked(templates.check_source(actor=self.actor, source=source)))
        documents = [
            {"name": checked.name, **shape_checked(checked)}
            for checked in document_sets.check_set(actor=self.actor, source=source)
        ]
        findings = [finding for document in documents for finding in document["findings"]]
        return Response({"findings": findings, "documents": documents})


def shape_checked(checked: Normalized) -> dict[str, Any]:
    """Write the findings in a document, and its canonical form if it has no errors."""
    body: dict[str, Any] = {"findings": [finding.as_json() for finding in checked.findings]}
    if checked.canonical is not None:
        body |= {"canonical": checked.canonical, "sha256": checked.sha256}
    return body


class ActivateSetView(ApiView):
    @once
    def post(self, request: Request) -> Response:
        """Activate several drafts together, or none."""
        body = read_body(request, ActivateSetBody)
        chosen = [(one["name"], one["version"]) for one in body["versions"]]
        active = templates.activate_versions(actor=self.actor, chosen=chosen)
        return Response({"versions": SavedVersionSerializer.write_all(active)})


class TemplateView(ApiView):
    def get(self, request: Request, name: str) -> Response:
        """Show a template, its start form, and the versions that you can see."""
        template = with_version_in_force(access.visible_templates(self.actor)).filter(name=name).first()
        if template is None:
            raise NotFound
        held = in_force(template)
        versions = access.visible_versions(self.actor).filter(template=template).order_by("-number")
        return Response(
            {
                **TemplateSerializer.write(template),
                "input": (held.canonical or {}).get("input") if held else None,
                "versions": VersionLineSerializer.write_all(versions),
            }
        )


class VersionView(EditedView):
    answers_whole = False

    def hold(self, name: str, number: int) -> object:
        return access.version_to_author(self.actor, name, number)

    def get(self, request: Request, name: str, number: int) -> Response:
        """Show one version."""
        return Response(VersionSerializer.write(access.version_of(self.actor, name, number)))

    @matched
    def put(self, request: Request, name: str, number: int) -> Response:
        """Change a draft."""
        body = read_body(request, DraftBody)
        draft = templates.save_draft(actor=self.actor, name=name, number=number, **body)
        return Response(SavedVersionSerializer.write(draft))

    @matched
    def delete(self, request: Request, name: str, number: int) -> Response:
        """Delete a draft."""
        templates.delete_draft(actor=self.actor, name=name, number=number)
        return Response(status=204)


class MoveView(ApiView):
    """Move a version: the route names the action."""

    move: Callable[..., TemplateVersion]

    @once
    def post(self, request: Request, name: str, number: int) -> Response:
        """Activate, pause, resume or archive."""
        read_body(request, NoBody)
        version = type(self).move(actor=self.actor, name=name, number=number)
        return Response(SavedVersionSerializer.write(version))


class ActivateView(MoveView):
    move = staticmethod(templates.activate_version)


class PauseView(MoveView):
    move = staticmethod(templates.pause_version)


class ResumeView(MoveView):
    move = staticmethod(templates.resume_version)


class ArchiveView(MoveView):
    move = staticmethod(templates.archive_version)


class SimulateView(ApiView):
    @once
    def post(self, request: Request, name: str, number: int) -> Response:
        """Simulate a version with a simulated clock; nothing is saved."""
        test = read_body(request, SimulationBody)
        report = simulation.simulate_version(actor=self.actor, name=name, number=number, test=test)
        return Response({"passed": report.passed, "failures": report.failures, "result": report.result})


class DiffView(ApiView):
    def get(self, request: Request, name: str, number: int) -> Response:
        """Describe how a version differs from another version of its template."""
        asked = request.query_params.get("against")
        if asked is not None and not (asked.isascii() and asked.isdigit() and len(asked) < 10):
            message = "Add ?against= with the number of the version to compare with."
            raise Invalid(message, [FieldError("against", "invalid", message)])
        against, found = version_differences(
            actor=self.actor, name=name, number=number, against=None if asked is None else int(asked)
        )
        return Response({"version": number, "against": against, "differences": [one.as_json() for one in found]})


class ExportView(ApiView):
    def get(self, request: Request, name: str, number: int) -> HttpResponse:
        """Export a version as written, as JSON, or in canonical form."""
        form = request.query_params.get("format", "yaml")
        export = export_version(actor=self.actor, name=name, number=number, form=form)
        answer = HttpResponse(export.text, content_type=export.content_type)
        answer["Content-Disposition"] = f'attachment; filename="{export.name}"'
        return answer
