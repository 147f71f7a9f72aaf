"""The gallery: every workflow is clean, can be shown, and comes to an end on every way that people can choose."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import engine.gallery
from engine.functions import registered_functions
from engine.gallery import GALLERY, gallery
from engine.kernel.definition import Definition, compile_definition
from engine.kernel.effects import Slice, Wait, WaitKind
from engine.kernel.forms import check_values
from engine.kernel.interpreter import advance
from engine.kernel.normalizer import TenantFacts, normalize
from engine.kernel.signals import (
    CallFailed,
    CallSucceeded,
    Happening,
    InstanceFacts,
    Lent,
    RetryDue,
    Started,
    TaskCompleted,
    TimerDue,
)
from engine.kernel.snapshot import Snapshot
from engine.services.people import DEFAULT_ROLES
from tasks_inbox.schema import CANNOT, Group, layout_of

NOW = datetime(2026, 11, 16, 9, tzinfo=UTC)
STARTER = "uri"
FACTS = TenantFacts(roles=frozenset(DEFAULT_ROLES), functions=frozenset(registered_functions()))
every_workflow = pytest.mark.parametrize("name", GALLERY)


def canonical(name: str) -> dict[str, Any]:
    found = normalize(gallery()[name], FACTS).canonical
    assert found is not None
    return found


def test_every_file_is_listed() -> None:
    folder = Path(engine.gallery.__file__).parent
    assert {file.stem for file in folder.glob("*.yaml")} == set(GALLERY)
    assert len(GALLERY) >= 12


@every_workflow
def test_it_validates_without_any_finding(name: str) -> None:
    checked = normalize(gallery()[name], FACTS)
    assert checked.findings == ()
    assert checked.name == name


@every_workflow
def test_it_can_be_recognised_in_a_list(name: str) -> None:
    head = canonical(name)
    assert head["title"][0].isupper()
    assert 10 < len(head["description"]) <= 100
    assert head["description"].endswith(".")
    assert head["tags"]
    assert head["reference"]["key"]


@every_workflow
def test_every_step_that_people_see_has_a_title(name: str) -> None:
    silent = {"set", "complete", "fail"}
    untitled = [step["id"] for step in steps_in(canonical(name)) if not silent & set(step) and not step.get("title")]
    assert untitled == []


@every_workflow
def test_every_form_has_titled_fields_that_the_inbox_can_draw(name: str) -> None:
    for schema in schemas_in(canonical(name)):
        for part in layout_of(schema):
            assert not isinstance(part, Group)
            assert part.kind != CANNOT, part.path
            assert part.schema.get("title"), part.path


@every_workflow
def test_no_unquoted_comma_cut_a_text_in_two(name: str) -> None:
    """In `{title: Light, for travelling}` the second half is a key of its own, without a value."""
    assert [path for schema in schemas_in(canonical(name)) for path in empty_keys(schema)] == []


@every_workflow
def test_a_task_for_the_starter_may_be_done_by_whoever_may_start(name: str) -> None:
    head = canonical(name)
    for step in steps_in(head):
        if "started_by" in str(step.get("task", {}).get("assignee", "")):
            assert step["task"]["min_level"] <= head["starters"]["min_level"], step["id"]


@every_workflow
@pytest.mark.parametrize("given", ["all fields", "required fields"])
def test_every_way_through_it_ends(name: str, given: str) -> None:
    """Choose every outcome, let every time run out: no expression fails, no case gets stuck."""
    definition = compile_definition(canonical(name))
    schema = definition.input_schema or {}
    values, errors = check_values(schema, sample(schema, optional=given == "all fields"))
    assert errors == ()
    ends = list(Walk(definition).ends(values))
    assert {end.status.value for end in ends} <= {"completed", "failed", "expired"}
    assert any(end.status.value == "completed" for end in ends)


@dataclass
class Walk:
    """Follow every way through a workflow, as people, workers and clocks could."""

    definition: Definition

    def ends(self, values: Any) -> Iterator[Slice]:
        yield from self._follow(self._advance(None, Started(values)), {})

    def _follow(self, result: Slice, before: dict[int, Wait]) -> Iterator[Slice]:
        gone = {closed.token for closed in result.closed}
        waits = {token: wait for token, wait in before.items() if token not in gone}
        waits |= {wait.token: wait for wait in result.opened}
        assert result.status.value != "incident", result.error
        if not waits:
            yield result
        for happening in [happening for wait in waits.values() for happening in ways(wait)]:
            yield from self._follow(self._advance(result.snapshot, happening), waits)

    def _advance(self, snapshot: Snapshot | None, happening: Happening) -> Slice:
        mine = Snapshot.from_json(snapshot.to_json()) if snapshot else None
        facts = InstanceFacts("0193-0000-7000-8000-00000000abcd", self.definition.name, 1, STARTER, NOW, None)
        return advance(self.definition, mine, facts, [happening], Lent(now=NOW))


def ways(wait: Wait) -> Iterator[Happening]:
    """List what can happen to a wait."""
    if wait.kind is WaitKind.TASK and wait.task:
        for outcome in wait.task.outcomes:
            yield answer(wait, outcome.name)
    elif wait.kind is WaitKind.CALL and wait.call:
        yield CallSucceeded(wait.token, wait.call.request.get("args") or {"status": 200, "headers": {}, "body": None})
    elif wait.kind is WaitKind.RETRY:
        yield RetryDue(wait.token)
    else:
        yield TimerDue(wait.token)


def answer(wait: Wait, outcome: str) -> TaskCompleted:
    assert wait.task
    form = dict(wait.task.form)
    values, errors = check_values(form or None, sample(form, optional=False))
    assert errors == ()
    return TaskCompleted(token=wait.token, outcome=outcome, by="ada", values=values, comment="Because.")


def test_a_call_that_fails_once_is_tried_again() -> None:
    definition = compile_definition(canonical("leave-request"))
    walk = Walk(definition)
    started = walk._advance(None, Started({"kind": "holiday", "first_day": "2026-12-07", "days": 2}))
    task = next(wait for wait in started.opened if wait.task)
    called = walk._advance(started.snapshot, answer(task, "approve"))
    failed = walk._advance(called.snapshot, CallFailed(called.opened[0].token, "transport", "no_answer", "no answer"))
    assert [wait.kind for wait in failed.opened] == [WaitKind.RETRY]


# Reading definitions and making values


def steps_in(value: Any) -> Iterator[dict[str, Any]]:
    """Walk all steps, at any depth."""
    if isinstance(value, dict):
        if "id" in value and "path" in value:
            yield value
        for inner in value.values():
            yield from steps_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from steps_in(inner)


def schemas_in(head: dict[str, Any]) -> list[dict[str, Any]]:
    forms = [step["task"]["form"] for step in steps_in(head) if step.get("task", {}).get("form")]
    return [head["input"], *forms]


def empty_keys(value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if inner is None:
                yield f"{path}/{key}"
            yield from empty_keys(inner, f"{path}/{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from empty_keys(inner, path)


def sample(schema: dict[str, Any], *, optional: bool) -> dict[str, Any]:
    """Make values that satisfy a form."""
    wanted = schema.get("properties", {}) if optional else schema.get("required", ())
    return {name: sample_of(schema["properties"][name]) for name in wanted}


TEXTS = {"date": "2026-12-01", "date-time": "2026-11-16T08:00:00Z", "uri": "https://a.example/x"}


def sample_of(schema: dict[str, Any]) -> Any:
    if "oneOf" in schema:
        return schema["oneOf"][-1]["const"]
    if "enum" in schema:
        return schema["enum"][0]
    if schema["type"] in ("number", "integer"):
        return schema.get("maximum", 9000)
    return {"boolean": True, "array": ["one thing"]}.get(schema["type"]) or sample_text(schema)


def sample_text(schema: dict[str, Any]) -> str:
    if "pattern" in schema:
        return "NB-0412"
    return TEXTS.get(schema.get("format", ""), "some words")
