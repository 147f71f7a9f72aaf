"""The gallery: every workflow is clean, can be shown, and its own tests come to each of its ends."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import engine.gallery
from engine.extensions.functions import registered_functions
from engine.gallery import GALLERY, gallery
from engine.kernel.definition import Definition, compile_definition
from engine.kernel.errors import error_names
from engine.kernel.language.normalizer import TenantFacts, normalize
from engine.kernel.simulator.instance import Instance
from engine.kernel.simulator.player import Play
from engine.kernel.transitions import InstanceStatus, StepStatus
from engine.management.demo.seed import MORE_ROLES
from engine.presentation.forms.schema import CANNOT, Part, layout_of
from engine.services.people.tenants_and_roles import DEFAULT_ROLES

FACTS = TenantFacts(
    roles=frozenset({*DEFAULT_ROLES, *MORE_ROLES}),
    functions=frozenset(registered_functions()),
    workflows=frozenset(GALLERY),
)
every_workflow = pytest.mark.parametrize("name", GALLERY)


def canonical(name: str) -> dict[str, Any]:
    found = normalize(gallery()[name], FACTS).canonical
    assert found is not None
    return found


def test_every_file_is_listed() -> None:
    folder = Path(engine.gallery.__file__).parent
    assert {file.stem for file in folder.glob("*.yaml")} == set(GALLERY)
    assert len(GALLERY) >= 20


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
        for part in every_part(layout_of(schema)):
            assert part.kind != CANNOT, part.key
            assert part.schema.get("title"), part.key


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
def test_every_stored_test_is_green(name: str) -> None:
    assert [(play.test["name"], play.failures) for play in plays(name) if play.failures] == []


@every_workflow
def test_stored_tests_reach_every_end_and_choose_every_outcome(name: str) -> None:
    """Compare what a template declares with what its own tests come to: ends, outcomes of tasks, times that run out."""
    assert declared(canonical(name)) - reached(name) == set()


def test_what_is_left_untried_is_told_apart() -> None:
    """See the comparison fail: with one test left out, that test's end is missing."""
    head = canonical("expense-approval")
    assert declared(head) - reached("expense-approval", leaving_out=1) == {
        ("outcome", "review", "reject"),
        ("complete", "REJECTED"),
    }


@every_workflow
def test_the_steps_of_its_tests_happen_in_the_order_of_their_clock(name: str) -> None:
    for play in plays(name):
        for instance in play.world.instances:
            moments = [run.at for run in instance.trace]
            assert moments == sorted(moments)


@cache
def compiled_gallery() -> dict[str, Definition]:
    return {name: compile_definition(canonical(name)) for name in GALLERY}


@cache
def plays(name: str) -> list[Play]:
    """Play every stored test of a workflow, with the rest of the gallery around it."""
    found = [Play(compiled_gallery(), name, test) for test in canonical(name)["tests"]]
    for play in found:
        play.run()
    return found


End = tuple[str, ...]


def declared(head: dict[str, Any]) -> set[End]:
    """List every way to end that the author wrote down."""
    ends: set[End] = {("deadline",)} if "deadline" in (head.get("limits") or {}) else set()
    ends |= {("ran out of steps",)} if can_run_out(head["steps"]) else set()
    return ends.union(*(ends_of(step) for step in steps_in(head)))


def can_run_out(steps: list[dict[str, Any]]) -> bool:
    """Return whether a case can come past the last of these steps."""
    last = steps[-1] if steps else {}
    if "if" in last:
        return can_run_out(last["then"]) or can_run_out(last.get("else") or [])
    if "switch" in last:
        branches = [case["steps"] for case in last["switch"]["cases"]]
        return any(can_run_out(branch) for branch in [*branches, last["switch"].get("default") or []])
    return not {"complete", "fail", "cancel"} & set(last)


def ends_of(step: dict[str, Any]) -> set[End]:
    ends: set[End] = set()
    if "complete" in step:
        ends = {("complete", outcome) for outcome in names_in(step["complete"]["outcome"])}
    if "fail" in step:
        ends = {("fail", step["fail"]["code"])}
    if (step.get("cancel") or {}).get("case"):
        ends = {("cancel", step["cancel"]["outcome"])}
    if "task" in step:
        ends = {("outcome", step["id"], one["name"]) for one in step["task"].get("outcomes") or [{"name": "done"}]}
        ends |= {("timed out", step["id"])} if "timeout" in step else set()
    return ends


def names_in(outcome: str) -> list[str]:
    """Read the names that an outcome may have: itself, or the texts of its expression."""
    return re.findall(r"'([A-Z][A-Z_ ]+)'", outcome) if "${" in outcome else [outcome]


def reached(name: str, leaving_out: int | None = None) -> set[End]:
    """List every way to end that the stored tests came to."""
    chosen = [play for number, play in enumerate(plays(name)) if number != leaving_out]
    cases = [one for play in chosen for one in play.world.instances if one.definition.name == name]
    return set().union(*(ends_reached(case) for case in cases))


def ends_reached(case: Instance) -> set[End]:
    ends: set[End] = {end_of(case)}
    for run in case.trace:
        if run.kind == "task" and run.status is StepStatus.TIMED_OUT:
            ends.add(("timed out", run.step))
        elif run.kind == "task" and run.status is StepStatus.SUCCESS:
            answers = run.output.get("answers", [run.output])
            ends |= {("outcome", run.step, answer["outcome"]) for answer in answers}
    return ends


def end_of(case: Instance) -> End:
    if case.status is InstanceStatus.COMPLETED:
        return ("complete", case.outcome) if case.outcome else ("ran out of steps",)
    if case.status is InstanceStatus.FAILED:
        return ("fail", error_names(case.error)["code"])
    if case.status is InstanceStatus.CANCELLED:
        return ("cancel", case.outcome or "")
    return ("deadline",) if case.status is InstanceStatus.EXPIRED else (case.status.value,)


# Reading definitions


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


def every_part(parts: tuple[Part, ...]) -> Iterator[Part]:
    for part in parts:
        yield part
        yield from every_part(part.parts)
