"""Step kinds that an installed package brings along: found by entry point, read into steps, missed when they are gone."""

import sys
from pathlib import Path
from typing import Any

import pytest

from engine.diagram.graph import flow_of
from engine.errors import Conflict, Unprocessable
from engine.extensions import step_kinds
from engine.extensions.functions import AlreadyRegistered
from engine.extensions.step_kinds import BadStepKind, load_step_kinds, register_step_kind, registered_step_kinds
from engine.models import TemplateVersion
from engine.services.tasks.lifecycle import complete_task
from engine.services.templates.editor import words_to_complete
from engine.services.templates.startup_validation import validate_active_versions
from engine.services.templates.versions import activate_version, save_draft
from tests.workflows import activated, only_task, started
from workflowplatform.accounts.actor import Actor

PACKAGE = """\
from engine.extensions.step_kinds import StepKind

SCHEMA = {
    "type": "object",
    "required": ["question"],
    "properties": {"question": {"type": "string"}, "days": {"type": "integer", "default": 3}},
}


def _steps(body, step):
    ask = {"id": f"{step}_ask", "task": {"title": body["question"], "outcomes": ["yes", "no"]}, "timeout": f"P{body['days']}D"}
    return [ask, {"set": {step: f"${{result.{step}_ask.outcome == 'yes'}}"}}]


yes_or_no = StepKind(SCHEMA, _steps)
no_kind = "a text"
"""
ENTRY_POINTS = """\
[workflow_platform.step_kinds]
yes_or_no = house_of_kinds:yes_or_no
gone = house_of_kinds:nothing
odd = house_of_kinds:no_kind
task = house_of_kinds:yes_or_no
"""
ASKS = """\
workflow: asks-a-function
steps:
  - {id: agreed, yes_or_no: {question: "Really, ${start.who}?"}}
  - {id: after, task: {title: After}, when: state.agreed}
tests:
  - {name: no, start: {who: ann}, answers: {agreed_ask: {outcome: no}}, expect: {status: completed, state: {agreed: false}}}
"""


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Install a package that names step kinds, for one test."""
    monkeypatch.setattr(step_kinds, "_registered", {})
    (tmp_path / "house_of_kinds.py").write_text(PACKAGE)
    info = tmp_path / "house_of_kinds-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: step-kinds-of-ours\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "house_of_kinds", raising=False)
    load_step_kinds()


def test_entry_points_are_found_and_what_fails_does_not_stop_the_others() -> None:
    assert set(registered_step_kinds()) == {"yes_or_no"}
    load_step_kinds()
    assert set(registered_step_kinds()) == {"yes_or_no"}


def test_a_durable_case_runs_what_the_kind_became(gwen: Actor) -> None:
    version = activated(gwen, ASKS)
    assert version.canonical is not None
    assert version.canonical["requires"]["step_kinds"] == ["yes_or_no"]
    instance = started(gwen, "asks-a-function", who="bob")
    task = only_task(instance)
    assert (task.title, task.step) == ("Really, bob?", "agreed_ask")
    complete_task(actor=gwen, task_id=task.pk, outcome="yes", values={})
    instance.refresh_from_db()
    assert instance.state == {"agreed": True}
    assert {"agreed", "agreed/agreed_ask"} <= set(flow_of(version.canonical).nodes)
    completing = words_to_complete(actor=gwen)["schema"]["$defs"]["step"]["anyOf"]
    assert any("yes_or_no" in one.get("properties", {}) for one in completing)


def test_a_kind_that_is_gone_marks_the_version_and_lets_its_cases_go_on(
    gwen: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = activated(gwen, ASKS)
    running = started(gwen, "asks-a-function", who="bob")
    monkeypatch.setattr(step_kinds, "_registered", {})
    (verdict,) = validate_active_versions()
    assert "unknown_step_kind" in verdict.why
    assert TemplateVersion.objects.get(pk=version.pk).unavailable
    with pytest.raises(Conflict):
        started(gwen, "asks-a-function", who="ann")
    complete_task(actor=gwen, task_id=only_task(running).pk, outcome="no", values={})
    running.refresh_from_db()
    assert (running.status, running.state) == ("completed", {"agreed": False})
    with pytest.raises(Unprocessable):
        activate_version(actor=gwen, name="asks-a-function", number=save_draft(actor=gwen, source=ASKS).number)
    load_step_kinds()
    assert [one.why for one in validate_active_versions()] == [""]


@pytest.mark.parametrize("name", ["task", "timeout", "next", "then", "Big", "a-b", "path"])
def test_a_word_of_the_language_is_nobodys_to_register(name: str) -> None:
    with pytest.raises(BadStepKind):
        register_step_kind(name, schema={}, expand=_nothing)


def test_a_kind_is_registered_once_with_a_schema() -> None:
    register_step_kind("once", schema={}, expand=_nothing)
    with pytest.raises(AlreadyRegistered):
        register_step_kind("once", schema={}, expand=_nothing)
    with pytest.raises(BadStepKind):
        register_step_kind("bad", schema={"type": "nonsense"}, expand=_nothing)


def _nothing(_body: Any, _step: str) -> list[Any]:
    return []
