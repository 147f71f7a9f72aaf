"""manage.py workflow validate|import|export …: the author's tools."""

from argparse import REMAINDER, ArgumentParser, _SubParsersAction
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.core.management.base import CommandError, CommandParser

from engine import access
from engine.errors import NotFound, Unprocessable, WorkflowError
from engine.kernel.findings import Finding
from engine.kernel.normalizer import Normalized, TenantFacts, normalize
from engine.kernel.source import SourceRefused, read_documents
from engine.management.documents import Document, Unreadable, as_json, finding_line, read_file
from engine.management.seeding import SeedingCommand, acting_in
from engine.models import TemplateVersion
from engine.services.people import tenant_named
from engine.services.templates import activate_version, save_draft, tenant_facts
from workflowplatform.accounts.actor import Actor, operator_actor

FOUND, LATER = 1, 2
"""Exit codes: something was found, so that it is not clean; the tool is not there yet."""


class Command(SeedingCommand):
    help = "Validate, import and export workflow documents."
    found = False

    def add_arguments(self, parser: CommandParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True, metavar="validate|import|export")
        _add_validate(acts)
        _add_import(acts)
        _add_export(acts)
        for act in ("test", "simulate", "diagram"):
            acts.add_parser(act, help="comes later").add_argument("words", nargs=REMAINDER)

    def handle(self, *args: Any, **options: Any) -> str | None:
        """Validate without a database; everything else in one transaction."""
        if options["act"] in ("test", "simulate", "diagram"):
            raise CommandError(f"workflow {options['act']} is not there yet; validate is.", returncode=LATER)
        self.found = False
        without_database = options["act"] == "validate" and options["tenant"] is None
        answer = self.validate(**options) if without_database else super().handle(*args, **options)
        if self.found:
            raise SystemExit(FOUND)
        return answer

    def seed(self, **options: Any) -> str | None:
        acts: Mapping[str, Callable[..., str | None]] = {
            "validate": self.validate,
            "import": self.bring_in,
            "export": self.export,
        }
        return acts[options["act"]](**options)

    # validate

    def validate(self, **options: Any) -> str | None:
        """Tell every finding of every file."""
        facts = _facts(options["tenant"])
        reports = [report for file in options["files"] for report in _reports(file, facts)]
        self.found = any(report["findings"] for report in reports)
        if options["json"]:
            self.stdout.write(as_json([_report_json(report) for report in reports]))
        else:
            self._tell(reports)
        return None

    def _tell(self, reports: Iterable[Mapping[str, Any]]) -> None:
        for report in reports:
            for finding in report["findings"]:
                self.stdout.write(finding_line(report["file"], finding))
            if not report["findings"]:
                self.say(f"{report['file']}: {report['name']} is clean.")

    # import

    def bring_in(self, **options: Any) -> str | None:
        """Save each document as the next version of its template, findings or not, and put it in force when asked."""
        actor = _actor(options)
        try:
            documents = read_file(options["file"])
        except Unreadable as problem:
            raise CommandError(f"{options['file']}: {problem}.") from problem
        saved = [self._save(actor, document, activate=options["activate"]) for document in documents]
        if options["json"]:
            return as_json([_version_json(version) for version in saved])
        return None

    def _save(self, actor: Actor, document: Document, *, activate: bool) -> TemplateVersion:
        version = save_draft(actor=actor, source=document.source)
        name, number = version.template.name, version.number
        for found in version.findings:
            self.found = True
            self.say(finding_line(document.file, document.located(Finding(**found))))
        if activate:
            version = _activated(actor, document, name, number)
        self.say(f"{name} version {number} is {version.status}.")
        return version

    # export

    def export(self, **options: Any) -> str:
        """Print a version's document: as written, as JSON, or in canonical form."""
        actor = _actor(options)
        version = _chosen(actor, options["name"], options["number"])
        return FORMATS["json" if options["json"] else options["format"]](version)


def _add_validate(acts: "_SubParsersAction[Any]") -> None:
    validate = acts.add_parser("validate", help="tell what is wrong with files; needs no database")
    validate.add_argument("files", nargs="+", metavar="FILE")
    validate.add_argument("--tenant", help="look also whether this tenant has the roles, people and workflows named")
    _add_json(validate)


def _add_import(acts: "_SubParsersAction[Any]") -> None:
    bring_in = acts.add_parser("import", help="save a file's documents as drafts")
    bring_in.add_argument("file", metavar="FILE")
    bring_in.add_argument("--activate", action="store_true", help="put them in force at once")
    _add_tenant(bring_in)
    _add_json(bring_in)


def _add_export(acts: "_SubParsersAction[Any]") -> None:
    export = acts.add_parser("export", help="print a template's document")
    export.add_argument("name", metavar="NAME")
    export.add_argument("--format", choices=tuple(FORMATS), default="yaml")
    export.add_argument(
        "--number", type=int, metavar="N", help="which version (default: the one in force, or the newest)"
    )
    _add_tenant(export)
    _add_json(export)


def _add_tenant(parser: ArgumentParser) -> None:
    parser.add_argument("--tenant", required=True)
    parser.add_argument("--as", dest="acting", metavar="PERSON", help="who does it (default: the operator)")


def _add_json(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def _actor(options: Mapping[str, Any]) -> Actor:
    tenant = tenant_named(options["tenant"])
    return acting_in(options["acting"], tenant) or operator_actor(tenant.pk)


def _facts(tenant: str | None) -> TenantFacts | None:
    return tenant_facts(operator_actor(tenant_named(tenant).pk)) if tenant else None


def _reports(file: str, facts: TenantFacts | None) -> list[dict[str, Any]]:
    try:
        documents = read_file(file)
    except Unreadable as problem:
        return [{"file": file, "name": None, "sha256": None, "findings": [problem.finding]}]
    return [_report(document, normalize(document.source, facts)) for document in documents]


def _report(document: Document, checked: Normalized) -> dict[str, Any]:
    findings = [document.located(finding) for finding in checked.findings]
    return {"file": document.file, "name": checked.name, "sha256": checked.sha256, "findings": findings}


def _report_json(report: Mapping[str, Any]) -> dict[str, Any]:
    return {**report, "findings": [finding.as_json() for finding in report["findings"]]}


def _activated(actor: Actor, document: Document, name: str, number: int) -> TemplateVersion:
    """Activate, or refuse; the whole import is undone then."""
    try:
        return activate_version(actor=actor, name=name, number=number)
    except Unprocessable as refusal:
        raise CommandError(f"{document.file}: {refusal.message} Nothing was imported.") from refusal


def _version_json(version: TemplateVersion) -> dict[str, Any]:
    facts = {"name": version.template.name, "version": version.number, "status": version.status}
    return {**facts, "sha256": version.sha256, "findings": version.findings}


def _chosen(actor: Actor, name: str, number: int | None) -> TemplateVersion:
    if number is not None:
        return access.version_of(actor, name, number)
    versions = access.visible_versions(actor).filter(template__name=name).order_by("-number")
    found = versions.in_force().first() or versions.first()
    if found is None:
        raise NotFound(f"There is no template {name} in this tenant.")
    return found


def _as_written(version: TemplateVersion) -> str:
    return version.source.rstrip("\n")


def _as_document(version: TemplateVersion) -> str:
    try:
        return as_json(read_documents(version.source)[0].plain())
    except (SourceRefused, IndexError) as problem:
        raise WorkflowError("This draft cannot be read as a document; export it with --format yaml.") from problem


def _canonical(version: TemplateVersion) -> str:
    if version.canonical is None:
        raise WorkflowError("This draft has errors and therefore no canonical form.")
    return as_json(version.canonical)


FORMATS: Mapping[str, Callable[[TemplateVersion], str]] = {
    "yaml": _as_written,
    "json": _as_document,
    "canonical": _canonical,
}
