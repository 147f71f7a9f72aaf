"""Authoring: drafts, findings, activation, and who may."""

import pytest

from engine.errors import Conflict, Invalid, NotFound, Refused, Unprocessable
from engine.models import Audit, TemplateVersion
from engine.services.instances.lifecycle import start_instance
from engine.services.templates import versions as templates
from tests.workflows import APPROVAL, TIMER, activated
from workflowplatform.accounts.actor import Actor


def test_a_draft_is_saved_with_its_findings(gwen: Actor) -> None:
    draft = templates.save_draft(actor=gwen, source=APPROVAL.replace("[finance]", "[finanse]"))
    assert draft.status == "draft"
    assert [finding["severity"] for finding in draft.findings] == ["error"]
    assert (draft.findings[0]["line"], "finance" in draft.findings[0]["hint"]) == (15, True)


def test_errors_stop_the_activation_and_say_how_many(gwen: Actor) -> None:
    draft = templates.save_draft(actor=gwen, source=APPROVAL.replace("[finance]", "[finanse]"))
    with pytest.raises(Unprocessable, match="1") as refusal:
        templates.activate_version(actor=gwen, name="approval", number=draft.number)
    assert len(refusal.value.findings) == 1


def test_only_level_five_authors(ada: Actor, gwen: Actor) -> None:
    with pytest.raises(Refused):
        templates.save_draft(actor=ada, source=TIMER)
    activated(gwen, TIMER)
    for act in (templates.pause_version, templates.archive_version, templates.activate_version):
        with pytest.raises(Refused):
            act(actor=ada, name="timer", number=1)


def test_another_tenants_template_does_not_exist(gwen: Actor, sam: Actor) -> None:
    activated(gwen, TIMER)
    with pytest.raises(NotFound):
        templates.pause_version(actor=sam, name="timer", number=1)
    activated(sam, TIMER)
    assert TemplateVersion.objects.filter(template__name="timer").count() == 2


def test_activating_archives_the_version_before(gwen: Actor) -> None:
    activated(gwen, TIMER)
    second = activated(gwen, TIMER)
    statuses = (
        TemplateVersion.objects.filter(template__name="timer").order_by("number").values_list("status", flat=True)
    )
    assert (second.number, list(statuses)) == (2, ["archived", "active"])


def test_a_paused_version_starts_nothing_until_resumed(gwen: Actor) -> None:
    activated(gwen, TIMER)
    templates.pause_version(actor=gwen, name="timer", number=1)
    with pytest.raises(Conflict) as refusal:
        start_instance(actor=gwen, template="timer", input={})
    assert refusal.value.code == "status"
    templates.resume_version(actor=gwen, name="timer", number=1)
    assert start_instance(actor=gwen, template="timer", input={}).instance.status == "running"


def test_the_second_author_is_told_and_nothing_is_overwritten(gwen: Actor) -> None:
    draft = templates.save_draft(actor=gwen, source=TIMER)
    mine = {"actor": gwen, "name": "timer", "number": draft.number, "revision": draft.revision}
    templates.save_draft(**mine, source=TIMER.replace("Timer", "First"))
    with pytest.raises(Conflict) as told:
        templates.save_draft(**mine, source=TIMER.replace("Timer", "Second"))
    assert told.value.code == "revision"
    draft.refresh_from_db()
    assert "First" in draft.source


def test_an_active_version_cannot_be_changed_or_deleted(gwen: Actor) -> None:
    activated(gwen, TIMER)
    with pytest.raises(Conflict):
        templates.save_draft(actor=gwen, source=TIMER, name="timer", number=1)
    with pytest.raises(Conflict):
        templates.delete_draft(actor=gwen, name="timer", number=1)


def test_a_document_without_a_name_is_refused_with_a_sentence(gwen: Actor) -> None:
    with pytest.raises(Invalid) as refusal:
        templates.save_draft(actor=gwen, source="title: nameless")
    assert refusal.value.errors[0].path == "source"


def test_what_is_not_yet_executed_is_refused_never_ignored(gwen: Actor) -> None:
    source = TIMER + "  - id: ask\n    task: {title: Ask, assign_by: skill}\n"
    draft = templates.save_draft(actor=gwen, source=source)
    assert "not_yet" in {finding["code"] for finding in draft.findings}
    with pytest.raises(Unprocessable):
        templates.activate_version(actor=gwen, name="timer", number=1)


def test_every_act_of_an_author_is_audited(gwen: Actor) -> None:
    version = activated(gwen, TIMER)
    templates.pause_version(actor=gwen, name="timer", number=1)
    templates.resume_version(actor=gwen, name="timer", number=1)
    templates.archive_version(actor=gwen, name="timer", number=1)
    rows = Audit.objects.filter(subject_id=version.template_id).order_by("seq")
    assert [row.action for row in rows] == [
        "create_template",
        "activate_template",
        "pause_template",
        "resume_template",
        "archive_template",
    ]
    assert {(row.actor_name, row.actor_level) for row in rows} == {("gwen", 5)}
