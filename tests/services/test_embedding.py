"""A workflow embedded in another: copied when the version is activated, and the same from then on."""

import pytest

from engine.diagram.graph import flow_of
from engine.errors import Unprocessable
from engine.models import Instance, Task, TemplateVersion
from engine.services.tasks.lifecycle import complete_task
from engine.services.templates.startup_validation import validate_active_versions
from engine.services.templates.versions import activate_version, archive_version, check_source, save_draft
from tests.workflows import activated, only_task, started
from workflowplatform.accounts.actor import Actor

CHILD = """\
workflow: checking
input: {type: object, required: [amount], properties: {amount: {type: integer}}}
output: {ok: "${result.look.outcome == 'good'}"}
steps:
  - {id: look, task: {title: "Look at ${start.amount}", outcomes: [good, bad]}}
  - set: {checked: "${start.amount + state.base}"}
"""
PARENT = """\
workflow: holding
state: {base: 100}
steps:
  - {id: sub, workflow: {name: checking, embed: true, input: {amount: "${start.total}"}}}
  - {id: after, set: {ok: "${result.sub.ok}"}}
tests:
  - name: its task is ours
    start: {total: 2}
    answers: {sub_look: {outcome: good}}
    expect: {status: completed, state: {checked: 102, ok: true}}
"""


def test_its_steps_run_in_the_case_that_embeds_it(gwen: Actor) -> None:
    activated(gwen, CHILD)
    version = activated(gwen, PARENT)
    assert version.canonical is not None
    instance = started(gwen, "holding", total=7)
    task = only_task(instance)
    assert (task.title, task.step) == ("Look at 7", "sub_look")
    complete_task(actor=gwen, task_id=task.pk, outcome="good", values={})
    instance.refresh_from_db()
    assert (instance.status, instance.state) == ("completed", {"base": 100, "checked": 107, "ok": True})
    assert Instance.objects.filter(parent=instance).count() == 0
    runs = dict(instance.step_runs.values_list("step", "path"))
    assert runs["sub_look"] == "sub/sub_look"
    assert "sub/sub_look" in flow_of(version.canonical).nodes


def test_a_new_version_of_the_embedded_changes_nothing_that_is_in_force(gwen: Actor) -> None:
    activated(gwen, CHILD)
    first = activated(gwen, PARENT)
    activated(gwen, CHILD.replace("Look at", "Regard"))
    assert only_task(started(gwen, "holding", total=1)).title == "Look at 1"
    second = activated(gwen, PARENT)
    assert first.sha256 != second.sha256
    Task.objects.all().update(status="cancelled")
    assert only_task(started(gwen, "holding", total=1)).title == "Regard 1"
    pinned = activated(gwen, PARENT.replace("embed: true", "embed: true, version: 1"))
    assert pinned.sha256 == first.sha256


def test_what_is_not_there_cannot_be_embedded_until_it_is(gwen: Actor) -> None:
    draft = save_draft(actor=gwen, source=PARENT)
    assert [(one["code"], one["line"]) for one in draft.findings] == [("unknown_workflow", 4)]
    with pytest.raises(Unprocessable):
        activate_version(actor=gwen, name="holding", number=1)
    activated(gwen, CHILD)
    assert check_source(actor=gwen, source=PARENT).findings == ()
    activate_version(actor=gwen, name="holding", number=1)


def test_a_version_stays_fit_when_what_it_embedded_is_archived(gwen: Actor) -> None:
    activated(gwen, CHILD)
    version = activated(gwen, PARENT)
    archive_version(actor=gwen, name="checking", number=1)
    assert [one.why for one in validate_active_versions() if one.version.pk == version.pk] == [""]
    assert TemplateVersion.objects.get(pk=version.pk).unavailable == ""


def test_nobody_embeds_another_tenants_workflow(gwen: Actor, zoe: Actor) -> None:
    activated(gwen, CHILD)
    assert [one.code for one in check_source(actor=zoe, source=PARENT).findings] == ["unknown_workflow"]


def test_two_that_embed_each_other_are_refused(gwen: Actor) -> None:
    activated(gwen, CHILD)
    activated(gwen, PARENT)
    circle = CHILD + "  - {id: back, workflow: {name: holding, embed: true, input: {total: 1}}}\n"
    assert [one.code for one in check_source(actor=gwen, source=circle).findings] == ["embeds_itself"]
