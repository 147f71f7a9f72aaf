"""How long an answer given on a page can be taken back: written at an outcome, a task or the head; the nearest counts."""

import json

import pytest

from engine.kernel.effects import OpenTask, WaitKind
from engine.kernel.language.normalizer import normalize
from engine.kernel.tasks.rules import NO_RULES, TaskRules, undo_seconds
from tests.kernel.play import Case

PLAIN = "workflow: x\nsteps: [{id: a, task: {title: A, outcomes: [go, stop]}}]"


def task_of(source: str) -> OpenTask:
    (wait,) = [wait for wait in Case(source).waits.values() if wait.kind is WaitKind.TASK]
    assert wait.task is not None
    return wait.task


def found_in(source: str) -> list[str]:
    return [finding.code for finding in normalize(source, allow_not_yet=True).findings]


def seconds(source: str, outcome: str, tenant: float | None = None) -> float:
    task = task_of(source)
    said = {one.name: one.undo for one in task.outcomes}
    return undo_seconds(said[outcome], task.rules.undo, tenant)


@pytest.mark.parametrize(
    ("head", "task", "go", "stop"),
    [
        ("", "{title: A, outcomes: [go, stop]}", 0, 0),
        ("undo: PT20S\n", "{title: A, outcomes: [go, stop]}", 20, 20),
        ("undo: PT20S\n", "{title: A, undo: PT5S, outcomes: [go, stop]}", 5, 5),
        ("undo: PT20S\n", "{title: A, undo: PT0S, outcomes: [go, stop]}", 0, 0),
        ("", "{title: A, undo: PT1M, outcomes: {go: {undo: PT0S}, stop: {reject: true}}}", 0, 60),
        ("", "{title: A, outcomes: {go: {undo: PT0.5S}, stop: {reject: true}}}", 0.5, 0),
    ],
)
def test_the_nearest_that_says_anything_counts(head: str, task: str, go: float, stop: float) -> None:
    source = f"workflow: x\n{head}steps: [{{id: a, task: {task}}}]"
    assert (seconds(source, "go"), seconds(source, "stop")) == (go, stop)


def test_a_tenant_is_asked_only_where_the_author_says_nothing() -> None:
    assert seconds(PLAIN, "go", tenant=8) == 8
    assert seconds(PLAIN.replace("title: A", "title: A, undo: PT0S"), "go", tenant=8) == 0


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("ten seconds", "bad_duration"),
        ("'${start.long}'", "bad_duration"),
        ("[PT1S]", "bad_duration"),
        ("10", "bad_duration"),
        ("PT61M", "undo_too_long"),
        ("P1M", "undo_too_long"),
    ],
)
@pytest.mark.parametrize(
    "place",
    [
        "undo: {}\nsteps: [{{task: {{title: A}}}}]",
        "steps: [{{task: {{title: A, undo: {}}}}}]",
        "steps: [{{task: {{title: A, outcomes: {{go: {{undo: {}}}}}}}}}]",
    ],
)
def test_what_is_no_time_for_a_countdown_is_a_finding(place: str, written: str, code: str) -> None:
    assert found_in("workflow: x\n" + place.format(written)) == [code]


def test_an_hour_is_the_most() -> None:
    assert found_in("workflow: x\nundo: PT1H\nsteps: [{task: {title: A}}]") == []


def test_a_template_without_undo_keeps_its_canonical_form() -> None:
    canonical = normalize(PLAIN).canonical
    assert canonical is not None
    assert "undo" not in json.dumps(canonical)
    assert task_of(PLAIN).rules == NO_RULES


def test_undo_is_read_again_from_the_canonical_form() -> None:
    source = "workflow: x\nundo: PT9S\nsteps: [{id: a, task: {title: A, undo: PT3S, outcomes: {go: {undo: PT0S}}}}]"
    first = normalize(source)
    again = normalize(json.dumps(first.canonical))
    assert again.sha256 == first.sha256
    assert again.sha256 != normalize(source.replace("PT3S", "PT4S")).sha256


def test_a_row_keeps_how_long() -> None:
    assert TaskRules(undo=2.5).to_json() == {"undo": 2.5}
    assert TaskRules(undo=0).to_json() == {"undo": 0}
    assert TaskRules.from_json({"undo": 2.5}) == TaskRules(undo=2.5)
    assert TaskRules.from_json({"undo": "PT1S"}) == NO_RULES
