"""Check words in expressions that only the rest of the template knows: outcomes, statuses, fields of forms and of the start.

A misspelt outcome makes a condition that never holds, a misspelt field one that fails when it is too late. What the template
fixes (outcomes, statuses, `instance`, `error`) is an error; what a form may leave open is a warning.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engine.kernel.expressions.cel import ExpressionRefused, Reference, check_text
from engine.kernel.findings import did_you_mean
from engine.kernel.language.reading.nodes import Outline, Reading, Use
from engine.kernel.language.source import Node
from engine.kernel.transitions import StepStatus

ANSWER = frozenset({"outcome", "by", "at", "comment", "expired", "operated"})
FIXED = {
    "instance": frozenset({"id", "reference", "started_by", "started_at", "template", "version"}),
    "error": frozenset({"class", "code", "message", "step", "attempt", "cause"}),
}
_SIDE = r"(result\.(?P<task>\w+)\.outcome|status\.(?P<step>\w+))"
_WORD = r"""(?:'[^']*'|"[^"]*")"""
_COMPARED = (
    re.compile(rf"(?<![\w.]){_SIDE}\s*[=!]=\s*(?P<words>{_WORD})"),
    re.compile(rf"(?P<words>{_WORD})\s*[=!]=\s*{_SIDE}(?![\w.])"),
    re.compile(rf"(?<![\w.]){_SIDE}\s+in\s+\[(?P<words>[^\]]*)\]"),
)
_OPEN = ("additionalProperties", "patternProperties", "unevaluatedProperties", "$ref")


def check_words(reading: Reading) -> None:
    """Find words in expressions that nothing can ever be."""
    for use in reading.uses:
        _check_compared(reading, use)
        try:
            references = check_text(use.text)
        except ExpressionRefused:
            continue
        for reference in references:
            if reference.path and not reference.guarded:
                _check_fixed(reading, use, reference)
                _check_fields(reading, use, reference)


def check_outcomes(reading: Reading) -> None:
    """Refuse two outcomes of one name: nobody could tell them apart."""
    for step in reading.steps.values():
        names = _outcomes(step)
        if len(set(names)) < len(names):
            reading.error(
                step.node, "duplicate_outcome", "two outcomes have the same name", f"{step.path}/task/outcomes"
            )


def check_exits(reading: Reading) -> None:
    """Refuse to leave what is not around: at run time that would end the whole instance."""
    for step in reading.steps.values():
        target = step.spec.get("exit")
        if isinstance(target, str) and target in reading.steps and target not in _around(reading, step):
            text = f"`exit` can only leave a step that contains it; `{target}` is not around it"
            reading.error(step.node, "out_of_place", text, step.path)


def check_undo(reading: Reading) -> None:
    """Warn of a `compensate` that finds nothing to undo."""
    able = {step.id for step in reading.steps.values() if "undo" in step.spec}
    holding = able | {above for name in able for above in _around(reading, reading.steps[name])}
    for step in reading.steps.values():
        spec = step.spec.get("compensate")
        target = spec.get("step") if isinstance(spec, dict) else None
        if target in reading.steps and target not in holding:
            text = f"nothing in `{target}` has an `undo`: this does nothing"
            reading.warn(step.node, "nothing_to_undo", text, step.path, "undo: […] next to the step")


def check_expiry(reading: Reading) -> None:
    """Warn of an `on_timeout` that never runs: `on_expire` has answered the task by then."""
    for step in reading.steps.values():
        task = step.spec.get("task")
        if step.spec.get("on_timeout") and isinstance(task, dict) and "on_expire" in task:
            text = "`on_timeout` never runs: `on_expire` answers the task"
            reading.warn(step.node, "unreachable", text, f"{step.path}/on_timeout", "keep one of the two")


def check_forms(reading: Reading) -> None:
    """Warn of fields that a form asks for, or an expired task answers with, and does not have."""
    for step in reading.steps.values():
        task = step.spec.get("task")
        form = task.get("form") if isinstance(task, dict) else None
        fields = form.get("properties") if isinstance(form, dict) and not set(_OPEN) & set(form) else None
        if not isinstance(task, dict) or not isinstance(form, dict) or not isinstance(fields, dict):
            continue
        answered = [name for name in task.get("on_expire") or {} if name not in ANSWER]
        for place, named in (("form/required", form.get("required", ())), ("on_expire", answered)):
            for name in named:
                if name not in fields:
                    text, hint = f"the form of `{step.id}` has no field `{name}`", did_you_mean(name, fields)
                    reading.warn(step.node, "unknown_field", text, f"{step.path}/task/{place}", hint)


def check_empty(reading: Reading) -> None:
    """Warn of a choice without ways, and of a handler behind one that takes every error: neither ever does anything."""
    for step in reading.steps.values():
        body = step.spec.get(step.kind)
        inner = {"parallel": "branches", "first": "branches", "switch": "cases"}.get(step.kind)
        if inner and isinstance(body, dict) and not body.get(inner) and not body.get("default"):
            reading.warn(step.node, "nothing_inside", f"`{step.kind}` without {inner} does nothing", step.path)
        handlers = step.spec.get("on_error") or ()
        takes_all = next((place for place, one in enumerate(handlers) if "match" not in one), len(handlers))
        if takes_all + 1 < len(handlers):
            text = f"handler {takes_all + 1} takes every error: those behind it never run"
            reading.warn(step.node, "unreachable", text, f"{step.path}/on_error", "put the one without `match` last")


def _check_compared(reading: Reading, use: Use) -> None:
    for pattern in _COMPARED:
        for found in pattern.finditer(use.text):
            known = _known_words(reading, found)
            for word in re.findall(_WORD, found["words"]) if known else ():
                if word[1:-1] not in known:
                    code = "unknown_outcome" if found["task"] else "unknown_status"
                    what = f"`{found['task']}` has no outcome" if found["task"] else "a step has no status"
                    hint = did_you_mean(word[1:-1], known) or ", ".join(known)
                    reading.error(_at(use, found.start()), code, f"{what} `{word[1:-1]}`", use.path, hint)


def _known_words(reading: Reading, found: re.Match[str]) -> list[str]:
    if found["step"]:
        return [status.value for status in StepStatus]
    step = reading.steps.get(found["task"])
    return _outcomes(step) or ["done"] if step is not None and _answered_once(step) else []


def _answered_once(step: Outline) -> bool:
    task = step.spec.get("task")
    return isinstance(task, dict) and "complete_when" not in task


def _outcomes(step: Outline) -> list[str]:
    task = step.spec.get("task")
    return [one["name"] for one in task.get("outcomes", ())] if isinstance(task, dict) else []


def _check_fixed(reading: Reading, use: Use, reference: Reference) -> None:
    known = FIXED.get(reference.root)
    if known is not None and reference.root not in use.own and reference.path[0] not in known:
        text = f"`{reference.root}` has no `{reference.path[0]}`"
        hint = did_you_mean(reference.path[0], known) or ", ".join(sorted(known))
        reading.error(_at(use, reference.offset), "unknown_part", text, use.path, hint)


def _check_fields(reading: Reading, use: Use, reference: Reference) -> None:
    name, known = _fields_of(reading, reference)
    if known and name not in known:
        text = f"`{reference.root}.{'.'.join(reference.path)}`: there is no field `{name}`"
        hint = did_you_mean(name, known) or ", ".join(sorted(known))
        reading.warn(_at(use, reference.offset), "unknown_field", text, use.path, hint)


def _fields_of(reading: Reading, reference: Reference) -> tuple[str, frozenset[str]]:
    """Return which field a reference reads, and which there are; none at all: that is not known."""
    if reference.root == "start":
        return reference.path[0], frozenset(_properties(reading.input_schema))
    step = reading.steps.get(reference.path[0]) if reference.root == "result" and len(reference.path) > 1 else None
    if step is None or not isinstance(step.spec.get("task"), dict):
        return "", frozenset()
    if not _answered_once(step):
        return reference.path[1], frozenset({"answers"})
    task = step.spec["task"]
    fields, form = frozenset(_properties(task.get("form") or {})), task.get("form")
    given = {key for key in task.get("on_expire") or {} if isinstance(key, str)}
    return reference.path[1], ANSWER | fields | given if fields or not form else frozenset()


def _properties(schema: Any) -> Iterator[str]:
    """List the fields that a schema names, anywhere; nothing where it leaves others open."""
    if any(key in schema for key in _OPEN if schema.get(key) is not False):
        return
    yield from _named(schema)


def _named(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        yield from schema.get("properties") or ()
        parts: Iterable[Any] = [schema.get(key) for key in ("then", "else", "if")]
        for part in [*parts, *(one for key in ("allOf", "anyOf", "oneOf") for one in schema.get(key) or ())]:
            yield from _named(part)
        yield from (name for part in (schema.get("dependentSchemas") or {}).values() for name in _named(part))


def _around(reading: Reading, step: Outline) -> set[str]:
    found: set[str] = set()
    above = reading.steps.get(step.parent)
    while above is not None:
        found.add(above.id)
        above = reading.steps.get(above.parent)
    return found


def _at(use: Use, offset: int) -> Node:
    return Node(use.node.line, use.node.column + use.offset + offset + int(use.node.quoted))
