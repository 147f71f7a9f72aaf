"""manage.py workflow validate|test|simulate|import|export|diagram …: the author's tools."""

import json
from argparse import ArgumentParser, _SubParsersAction
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from engine import access
from engine.diagram.graph import flow_of
from engine.diagram.layout import LayoutFailed, lay_out
from engine.diagram.outline import outline_text
from engine.diagram.svg import draw
from engine.errors import NotFound, Unprocessable, WorkflowError
from engine.gallery import GALLERY, GALLERY_FOLDER
from engine.kernel.definition import compile_definition
from engine.kernel.findings import ERROR, Finding
from engine.kernel.language.normalizer import Normalized, TenantFacts
from engine.kernel.language.source import SourceRefused, read_documents
from engine.kernel.simulator.environment import OverBudget
from engine.management.documents import Document, Unreadable, as_json, finding_line, read_file
from engine.management.dry_runs import (
    Tried,
    case_json,
    case_lines,
    definitions_around,
    play_case,
    read_workflows,
    try_files,
)
from engine.management.seeding import SeedingCommand, acting_in
from engine.models import TemplateVersion
from engine.services.people.tenants_and_roles import tenant_named
from engine.services.templates.stored_tests import play_tests, simulation_setup, workflows_around
from engine.services.templates.versions import activate_versions, facts_together_with, save_draft, tenant_facts
from workflowplatform.accounts.actor import Actor, operator_actor

FOUND = 1
"""The exit code when something was found, so that it is not clean."""
FILES_ONLY = frozenset({"validate", "test", "simulate", "diagram"})
"""What needs no database unless a tenant is named."""
SHAPES: Mapping[str, type] = {"answers": dict, "calls": dict, "signals": list}
"""What an option of simulate must be; a start may be anything, the workflow judges it."""


class Command(SeedingCommand):
    help = "Validate, test, simulate, import, export and draw workflow documents."
    found = False

    def add_arguments(self, parser: CommandParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True, metavar="validate|test|simulate|import|export|diagram")
        _add_validate(acts)
        _add_test(acts)
        _add_simulate(acts)
        _add_import(acts)
        _add_export(acts)
        _add_diagram(acts)

    def handle(self, *args: Any, **options: Any) -> str | None:
        """Check files without a database; everything else in one transaction."""
        self.found = False
        without_database = options["act"] in FILES_ONLY and options.get("tenant") is None
        answer = self.seed(**options) if without_database else super().handle(*args, **options)
        if self.found:
            raise SystemExit(FOUND)
        return answer

    def seed(self, **options: Any) -> str | None:
        acts: Mapping[str, Callable[..., str | None]] = {
            "validate": self.validate,
            "test": self.test,
            "simulate": self.simulate,
            "import": self.bring_in,
            "export": self.export,
            "diagram": self.diagram,
        }
        return acts[options["act"]](**options)

    # validate

    def validate(self, **options: Any) -> str | None:
        """Print every finding of every file."""
        facts = _facts(options["tenant"])
        reports = [report for file in options["files"] for report in _reports(file, facts)]
        self.found = any(report["findings"] for report in reports)
        if options["json"]:
            written = [{**one, "findings": [finding.as_json() for finding in one["findings"]]} for one in reports]
            self.stdout.write(as_json(written))
        else:
            self._tell(reports)
        return None

    def _tell(self, reports: Iterable[Mapping[str, Any]]) -> None:
        for report in reports:
            for finding in report["findings"]:
                self.stdout.write(finding_line(report["file"], finding))
            if not report["findings"]:
                self.say(f"{report['file']}: {report['name']} is clean.")

    # test and simulate

    def test(self, **options: Any) -> None:
        """Play the stored tests of files, or of a tenant's templates, and count."""
        tried = _try_named(options) if options["tenant"] else try_files(_files(options["what"]))
        passed, failed = sum(one.passed for one in tried), sum(one.failed for one in tried)
        self.found = failed > 0
        if options["json"]:
            told = {"passed": passed, "failed": failed, "workflows": [one.as_json() for one in tried]}
            self.stdout.write(as_json(told))
            self.say(f"{passed} passed, {failed} failed")
            return
        for one in tried:
            self.stdout.write("\n".join(one.lines()))
        self.stdout.write(f"{passed} passed, {failed} failed")

    def simulate(self, **options: Any) -> None:
        """Play one case of a file's first workflow and tell what happened."""
        read = read_workflows([options["file"]])
        main = read[0]
        if main.definition is None:
            raise CommandError("\n".join(finding_line(main.file, finding) for finding in main.findings))
        try:
            play = play_case(main.definition, definitions_around(read), _case(options))
        except (AttributeError, KeyError, OverBudget, TypeError, ValueError, RuntimeError) as problem:
            raise CommandError(f"This cannot be played: {problem}.") from problem
        self.found = play.main is None or bool(play.failures)
        self.stdout.write(as_json(case_json(play)) if options["json"] else "\n".join(case_lines(play)))

    # import

    def bring_in(self, **options: Any) -> str | None:
        """Save each document as the next version of its template, with or without findings; activate it when asked."""
        actor = _actor(options)
        try:
            documents = read_file(options["file"])
        except Unreadable as problem:
            raise CommandError(f"{options['file']}: {problem}.") from problem
        names = frozenset(name for document in documents if (name := document.checked().name))
        saved = [self._save(actor, document, names) for document in documents]
        if options["activate"]:
            saved = _activated(actor, options["file"], saved)
        for version in saved:
            self.say(f"{version.template.name} version {version.number} is {version.status}.")
        if options["json"]:
            return as_json([_version_json(version) for version in saved])
        return None

    def _save(self, actor: Actor, document: Document, names: frozenset[str]) -> TemplateVersion:
        version = save_draft(actor=actor, source=document.source, together_with=names)
        if version.findings:
            self.found = True
            for finding in document.checked(facts_together_with(actor, names)).findings:
                self.say(finding_line(document.file, finding))
        return version

    # export

    def export(self, **options: Any) -> str:
        """Print a version's document: as written, as JSON, or in canonical form."""
        actor = _actor(options)
        version = _chosen(actor, options["name"], options["number"])
        return FORMATS["json" if options["json"] else options["format"]](version)

    # diagram

    def diagram(self, **options: Any) -> str | None:
        """Draw a file's first workflow, or a template's version, at once."""
        canonical = _canonical_named(options) if options["tenant"] else _canonical_in(_files([options["what"]])[0])
        try:
            geometry = lay_out(flow_of(canonical))
        except LayoutFailed as problem:
            raise CommandError(f"{problem} The steps in words: manage.py workflow simulate.") from problem
        text = as_json(geometry) if options["json"] else draw(geometry, outline=outline_text(canonical))
        if options["output"] is None:
            return text
        try:
            Path(options["output"]).write_text(text + "\n", encoding="utf-8")
        except OSError as problem:
            raise CommandError(f"{options['output']} cannot be written: {problem.strerror}.") from problem
        self.say(f"{options['output']}: {len(geometry['nodes'])} nodes.")
        return None


def _canonical_in(file: str) -> dict[str, Any]:
    main = read_workflows([file])[0]
    if main.definition is None:
        raise CommandError("\n".join(finding_line(main.file, finding) for finding in main.findings))
    return dict(main.definition.canonical)


def _canonical_named(options: Mapping[str, Any]) -> dict[str, Any]:
    version = _chosen(operator_actor(tenant_named(options["tenant"]).pk), options["what"], None)
    if version.canonical is None:
        raise WorkflowError("This draft has errors and therefore no diagram.")
    return dict(version.canonical)


def _add_diagram(acts: "_SubParsersAction[Any]") -> None:
    diagram = acts.add_parser("diagram", help="draw a file's workflow, or a tenant's template, as SVG")
    diagram.add_argument("what", metavar="FILE|NAME")
    diagram.add_argument("-o", "--output", metavar="FILE", help="where to write it (default: print it)")
    diagram.add_argument("--tenant", help="whose template NAME means (default: the gallery's)")
    _add_json(diagram)


def _add_validate(acts: "_SubParsersAction[Any]") -> None:
    validate = acts.add_parser("validate", help="check files for errors; needs no database")
    validate.add_argument("files", nargs="+", metavar="FILE")
    validate.add_argument("--tenant", help="also check whether this tenant has the roles, people and workflows named")
    _add_json(validate)


def _add_test(acts: "_SubParsersAction[Any]") -> None:
    test = acts.add_parser("test", help="play the tests stored in files, or in a tenant's templates")
    test.add_argument("what", nargs="*", metavar="FILE|NAME", help="files, or names (default: all there are)")
    test.add_argument("--tenant", help="whose templates NAME means (default: the gallery's)")
    _add_json(test)


def _add_simulate(acts: "_SubParsersAction[Any]") -> None:
    simulate = acts.add_parser("simulate", help="play one case of a file and print what happens; needs no database")
    simulate.add_argument("file", metavar="FILE")
    simulate.add_argument("--start", metavar="JSON", default="{}", help="what it is started with")
    simulate.add_argument("--answers", metavar="JSON", default="{}", help="answers to tasks: {step: {outcome: …}}")
    simulate.add_argument("--calls", metavar="JSON", default="{}", help="answers of calls: {step: {result: …}}")
    simulate.add_argument("--signals", metavar="JSON", default="[]", help="signals: [{name, with, at}]")
    simulate.add_argument("--as", dest="starter", metavar="PERSON", default="starter", help="who starts it")
    simulate.add_argument("--at", metavar="MOMENT", help="the clock at the start")
    _add_json(simulate)


def _add_import(acts: "_SubParsersAction[Any]") -> None:
    bring_in = acts.add_parser("import", help="save a file's documents as drafts")
    bring_in.add_argument("file", metavar="FILE")
    bring_in.add_argument("--activate", action="store_true", help="activate them at once")
    _add_tenant(bring_in)
    _add_json(bring_in)


def _add_export(acts: "_SubParsersAction[Any]") -> None:
    export = acts.add_parser("export", help="print a template's document")
    export.add_argument("name", metavar="NAME")
    export.add_argument("--format", choices=tuple(FORMATS), default="yaml")
    export.add_argument(
        "--number", type=int, metavar="N", help="which version (default: the active one, or the newest)"
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


def _files(words: list[str]) -> list[str]:
    """Take a word that names a workflow of the gallery for its file; no words are the whole gallery."""
    named = {word: str(GALLERY_FOLDER / f"{word}.yaml") for word in GALLERY}
    return [named.get(word, word) for word in words or GALLERY]


def _try_named(options: Mapping[str, Any]) -> list[Tried]:
    actor = operator_actor(tenant_named(options["tenant"]).pk)
    active = TemplateVersion.objects.active().filter(tenant_id=actor.tenant_id).order_by("template__name")
    names = options["what"] or active.values_list("template__name", flat=True)
    return [_try_version(actor, _chosen(actor, name, None)) for name in names]


def _try_version(actor: Actor, version: TemplateVersion) -> Tried:
    label = f"{version.template.name} version {version.number}"
    if version.canonical is None:
        return Tried(label, version.template.name, findings=tuple(Finding(**found) for found in version.findings))
    around = workflows_around(actor.tenant_id, version.canonical)
    definition = compile_definition(version.canonical)
    return Tried(label, definition.name, tuple(play_tests(definition, around, simulation_setup(actor.tenant_id))))


def _case(options: Mapping[str, Any]) -> dict[str, Any]:
    """Make the body of a test from the options."""
    given = {key: _json(key, options[key]) for key in ("start", "answers", "calls", "signals")}
    return {**given, "as": options["starter"], **({"at": options["at"]} if options["at"] else {})}


def _json(option: str, text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError as problem:
        raise CommandError(f"--{option} is no JSON: {problem}.") from problem
    if not isinstance(value, SHAPES.get(option, object)):
        raise CommandError(f"--{option} must be {'a list' if option == 'signals' else 'an object'}.")
    return value


def _facts(tenant: str | None) -> TenantFacts | None:
    return tenant_facts(operator_actor(tenant_named(tenant).pk)) if tenant else None


def _reports(file: str, facts: TenantFacts | None) -> list[dict[str, Any]]:
    try:
        documents = read_file(file)
    except Unreadable as problem:
        return [{"file": file, "name": None, "sha256": None, "findings": [problem.finding]}]
    names = frozenset(name for document in documents if (name := document.checked().name))
    beside = replace(facts, workflows=facts.workflows | names) if facts else None
    return [_report(document, document.checked(beside)) for document in documents]


def _report(document: Document, checked: Normalized) -> dict[str, Any]:
    facts = {"file": document.file, "name": checked.name, "sha256": checked.sha256}
    return {**facts, "findings": list(checked.findings)}


def _activated(actor: Actor, file: str, saved: list[TemplateVersion]) -> list[TemplateVersion]:
    """Activate all as one set, or refuse; the whole import is undone then."""
    try:
        return activate_versions(actor=actor, chosen=[(one.template.name, one.number) for one in saved])
    except Unprocessable as refusal:
        told = [f"  {one.path} {one.code} {one.message}" for one in refusal.findings if one.severity == ERROR]
        raise CommandError("\n".join([f"{file}: {refusal.message} Nothing was imported.", *told])) from refusal


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
