"""Turn what an author wrote into the canonical definition: plain JSON, defaults written out, every step with id and
path.

Nothing an author can write raises: the answer is the definition, or findings that say what is wrong, all at once.
Canonical is itself a document of the language, so normalising it again gives the same hash.
"""

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

import engine.kernel.language.reading.steps as _step_readers
import engine.kernel.language.reading.tasks as _task_readers
from engine.kernel.findings import ERROR, WHOLE, Finding
from engine.kernel.language.custom_kinds import StepKind
from engine.kernel.language.embedding import Lookup
from engine.kernel.language.reading.nodes import SLUG, Enough, Reading, read_shape
from engine.kernel.language.shapes import ABSENT, ATTRIBUTES, HEAD
from engine.kernel.language.source import Node, SourceRefused, read_documents
from engine.kernel.language.step_lists import bodies
from engine.kernel.language.step_shapes import KINDS
from engine.kernel.language.validation.head import settle_head
from engine.kernel.language.validation.validator import TenantFacts, check, ordered
from engine.kernel.signals import Json

__all__ = ["Finding", "Normalized", "TenantFacts", "normalize", "sha256_of"]

SCHEMA_NAME = "workflow/v1"
assert _step_readers.READERS_READY
assert _task_readers.READERS_READY


@dataclass(frozen=True, slots=True)
class Normalized:
    """The canonical definition and its hash, both None when there are errors; `name` and `title` as far as readable."""

    canonical: dict[str, Json] | None
    sha256: str | None
    findings: tuple[Finding, ...]
    name: str | None
    title: str | None


def normalize(
    source: str,
    facts: TenantFacts | None = None,
    allow_not_yet: bool = False,
    workflows: Lookup | None = None,
    kinds: Mapping[str, StepKind] | None = None,
    above: int = 0,
) -> Normalized:
    """Read one document and check it; `above` counts the lines before it in the text that its author sees.

    `workflows` gives those that it may embed, `kinds` the step kinds of the project; where they are not given, the facts do.
    """
    try:
        documents = read_documents(source)
    except SourceRefused as problem:
        where = problem.line + above, problem.column, WHOLE
        return _refused(Finding(problem.code, ERROR, problem.message, *where, problem.hint))
    if len(documents) != 1:
        word = "is empty" if not documents else "holds several documents"
        hint = "write one workflow per document"
        return _refused(Finding("documents", ERROR, f"this template {word}", 1 + above, 1, WHOLE, hint))
    reading = Reading(allow_not_yet, above)
    reading.workflow_named = workflows or (facts.definition if facts is not None else None)
    reading.kinds = kinds if kinds is not None or facts is None else facts.step_kinds
    return _normalize_document(documents[0], facts, reading)


def normalize_set(source: str, facts: TenantFacts | None = None, allow_not_yet: bool = False) -> tuple[Normalized, ...]:
    """Read several documents separated by `---`."""
    try:
        documents = read_documents(source)
    except SourceRefused:
        return (normalize(source, facts, allow_not_yet),)
    return tuple(_normalize_document(document, facts, Reading(allow_not_yet)) for document in documents)


def _refused(finding: Finding) -> Normalized:
    return Normalized(None, None, (finding,), None, None)


def _normalize_document(document: Node, facts: TenantFacts | None, reading: Reading) -> Normalized:
    head: Json = None
    name, title = _written(document, "workflow"), _written(document, "title")
    reading.name = name
    with suppress(Enough):
        head = read_shape(reading, document, HEAD, "")
        if isinstance(head, dict):
            settle_head(reading, document, head)
        reading.starter_level = _starter_level(head)
        reading.input_schema = head.get("input") or {} if isinstance(head, dict) else {}
        name, title = _label(head, "workflow"), _label(head, "title")
        check(reading, replace(facts, workflows=facts.workflows | {name}) if facts and name else facts)
    findings = ordered(_without_others_doubts(reading))
    if any(finding.severity == ERROR for finding in findings):
        return Normalized(None, None, findings, name, title or name)
    canonical = _canonical(head, reading)
    return Normalized(canonical, sha256_of(canonical), findings, name, canonical["title"])


def _without_others_doubts(reading: Reading) -> list[Finding]:
    """Leave out warnings inside what was embedded: its own author was told of them."""
    inside = tuple(f"{path}/" for path in reading.embedded)
    return [one for one in reading.findings if one.severity == ERROR or not one.path.startswith(inside)]


def _starter_level(head: Json) -> int:
    starters = head.get("starters") if isinstance(head, dict) else None
    return int(starters.get("min_level", 4)) if isinstance(starters, dict) else 4


def _written(document: Node, key: str) -> str | None:
    """Find a text at the head of a document, so that one that could not be read to its end still has a name."""
    found = (document.entries or {}).get(key)
    text = found[1].scalar if found is not None else None
    good = isinstance(text, str) and (key != "workflow" or SLUG.fullmatch(text) is not None)
    return text if good else None


def _label(head: Json, key: str) -> str | None:
    found = head.get(key) if isinstance(head, dict) else None
    return found if isinstance(found, str) else None


def sha256_of(canonical: Json) -> str:
    """Hash a canonical definition, whatever the order of its keys."""
    text = json.dumps(canonical, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _canonical(head: dict[str, Json], reading: Reading) -> dict[str, Json]:
    if "title" not in head:
        head["title"] = head["workflow"].replace("-", " ").capitalize()
    _place_steps(head["steps"], "")
    for place, handler in enumerate(head.get("on", ())):
        _place_steps(handler["steps"], f"on.{place}")
    ordered_head = {key: head[key] for key in HEAD.fields if key in head}
    return {"schema": SCHEMA_NAME, **ordered_head, "requires": _requires(reading)}


def _requires(reading: Reading) -> dict[str, list[str]]:
    required = {
        "functions": sorted(reading.functions),
        "transports": sorted(_transports(reading)),
        "workflows": sorted(reading.workflows),
        "roles": sorted(reading.roles),
        "secrets": sorted(reading.secrets),
    }
    # Named only where there are some: a template without them keeps the hash it had before they were known.
    rare = {"decorators": sorted(reading.decorators), "step_kinds": sorted(reading.step_kinds)}
    return {**required, **{key: names for key, names in rare.items() if names}}


def _transports(reading: Reading) -> set[str]:
    calls = [step.spec["call"] for step in reading.steps.values() if isinstance(step.spec.get("call"), dict)]
    return {key for call in calls for key in call if key not in ("into", "key")}


def _place_steps(steps: list[dict[str, Json]], prefix: str) -> None:
    """Set every step's path and put its keys into a stable order."""
    for step in steps:
        kind = next(key for key in step if key in KINDS)
        path = f"{prefix}/{step['id']}" if prefix else step["id"]
        for name, inner in bodies(step, kind):
            _place_steps(inner, path if name == "steps" else f"{path}/{name}")
        _order_keys(step, kind, path)


def _order_keys(step: dict[str, Json], kind: str, path: str) -> None:
    rest = {key: step.pop(key) for key in list(step)}
    first = {"id": rest.pop("id"), "path": path, "auto_id": rest.pop("auto_id", ABSENT), kind: rest.pop(kind)}
    step.update({key: value for key, value in first.items() if value is not ABSENT})
    step.update({key: rest.pop(key) for key in ATTRIBUTES if key in rest})
    step.update(sorted(rest.items()))
