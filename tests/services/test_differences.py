"""What changed between two versions, in words that an author trusts."""

from rest_framework.test import APIClient

from engine.services.templates.differences import Difference, version_differences
from engine.services.templates.versions import save_draft
from tests.cast import Cast
from tests.workflows import APPROVAL, activated, started
from workflowplatform.accounts.actor import Actor


def told(gwen: Actor, changed: str) -> list[Difference]:
    activated(gwen, APPROVAL)
    started(gwen, "approval", amount=1)
    started(gwen, "approval", amount=2)
    save_draft(actor=gwen, source=changed)
    against, found = version_differences(actor=gwen, name="approval", number=2)
    assert against == 1
    return found


def test_the_same_document_is_no_different(gwen: Actor) -> None:
    assert told(gwen, APPROVAL) == []


def test_a_changed_role_says_who_stands_there(gwen: Actor) -> None:
    [only] = told(gwen, APPROVAL.replace("[finance]", "[hr]"))
    assert (only.kind, only.step, only.field, only.old, only.new, only.here) == (
        "changed",
        "review",
        "task.roles",
        ["finance"],
        ["hr"],
        2,
    )
    assert all(word in only.text for word in ("Review", "finance → hr", "2"))


def test_new_gone_and_moved_steps_are_told_apart(gwen: Actor) -> None:
    changed = (
        APPROVAL.replace("id: unmark\n        set", "id: note\n        set") + "  - {id: bye, set: {done: true}}\n"
    )
    found = {(one.kind, one.step) for one in told(gwen, changed)}
    assert found == {("added", "note"), ("added", "bye"), ("removed", "unmark")}


def test_what_stands_in_the_head_is_compared_too(gwen: Actor) -> None:
    [only] = told(gwen, APPROVAL.replace("title: Amount", "title: Sum"))
    assert (only.step, only.field, only.old, only.new) == ("", "input.properties.amount.title", "Amount", "Sum")


def test_a_step_inside_a_step_is_told_once(gwen: Actor) -> None:
    [only] = told(gwen, APPROVAL.replace("set: {approved: true}", "set: {approved: 1}"))
    assert (only.step, only.old, only.new) == ("mark", True, 1)


def test_it_can_be_asked_for_by_rest_and_strangers_get_nothing(cast: Cast, gwen: Actor) -> None:
    told(gwen, APPROVAL.replace("[finance]", "[hr]"))
    client = APIClient()
    client.force_login(cast.gwen)
    answer = client.get("/api/v1/templates/approval/versions/2/diff/?against=1")
    assert answer.json()["differences"][0]["running_here"] == 2
    assert client.get("/api/v1/templates/approval/versions/2/diff/").json() == answer.json()
    assert client.get("/api/v1/templates/approval/versions/2/diff/?against=x").status_code == 400
    assert client.get("/api/v1/templates/approval/versions/2/diff/?against=7").status_code == 404
    client.force_login(cast.sam)
    assert client.get("/api/v1/templates/approval/versions/2/diff/?against=1").status_code == 404
