"""Several documents are one set: saved, checked and activated together, or not at all."""

import io
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from engine.dispatch.drain import drain
from engine.errors import Conflict, Invalid, NotFound, Refused, Unprocessable
from engine.models import TemplateVersion
from engine.services.templates import creation
from engine.services.templates.document_sets import check_set, save_set
from engine.services.templates.versions import activate_version, activate_versions, save_draft
from tests.cast import Cast
from tests.workflows import activated, started
from workflowplatform.accounts.actor import Actor

PARENT = """\
workflow: parent
output: {said: "${result.sub.word}"}
steps:
  - {id: sub, workflow: {name: child, input: {}}}
tests:
  - {name: the child answers, start: {}, expect: {status: completed, output: {said: new}}}
"""
CHILD = """\
workflow: child
output: {word: new}
steps: [{set: {a: 1}}]
"""
SET = f"{PARENT}---\n{CHILD}"
BACK = """\
workflow: child
output: {word: new}
steps: [{when: "get(start, 'again', false)", id: back, continue_with: {name: parent}}]
"""


def chosen(versions: list[TemplateVersion]) -> list[tuple[str, int]]:
    return [(one.template.name, one.number) for one in versions]


def said(actor: Actor) -> Any:
    """Start the parent and tell what it said when all was over."""
    instance = started(actor, "parent")
    drain()
    instance.refresh_from_db()
    return instance.output


def statuses() -> set[tuple[str, int, str]]:
    return set(TemplateVersion.objects.values_list("template__name", "number", "status"))


@pytest.mark.parametrize("text", [SET, f"{CHILD}---\n{PARENT}", f"{PARENT}---\n{BACK}"])
def test_set_is_activated_whole_whatever_the_order_and_who_names_whom(gwen: Actor, text: str) -> None:
    saved = save_set(actor=gwen, source=text)
    assert [finding["code"] for one in saved for finding in one.findings] == []
    active = activate_versions(actor=gwen, chosen=chosen(saved))
    assert chosen(active) == chosen(saved)
    assert statuses() == {("parent", 1, "active"), ("child", 1, "active")}
    assert said(gwen) == {"said": "new"}


def test_tests_of_the_parent_are_played_with_the_child_of_the_set(gwen: Actor) -> None:
    activated(gwen, CHILD.replace("new", "old"))
    with pytest.raises(Unprocessable):
        activated(gwen, PARENT)
    activate_versions(actor=gwen, chosen=chosen(save_set(actor=gwen, source=SET)))
    assert said(gwen) == {"said": "new"}


def test_one_failing_document_keeps_all_back_and_says_whose_it_is(gwen: Actor) -> None:
    before = activated(gwen, CHILD.replace("new", "old"))
    saved = save_set(actor=gwen, source=f"{CHILD}---\n{PARENT.replace('said: new', 'said: other')}")
    with pytest.raises(Unprocessable) as refused:
        activate_versions(actor=gwen, chosen=chosen(saved))
    assert [(one.code, one.path) for one in refused.value.findings] == [("test_failed", "parent: tests")]
    before.refresh_from_db()
    assert before.status == "active"
    assert {one.status for one in TemplateVersion.objects.exclude(pk=before.pk)} == {"draft"}


def test_document_that_cannot_be_read_keeps_all_back(gwen: Actor) -> None:
    saved = save_set(actor=gwen, source=f"{PARENT}---\nworkflow: child\nsteps: [{{taks: 1}}]\n")
    with pytest.raises(Unprocessable) as refused:
        activate_versions(actor=gwen, chosen=chosen(saved))
    assert [one.code for one in refused.value.findings] == ["no_kind"]


def test_activating_one_of_a_set_alone_points_to_the_other(gwen: Actor) -> None:
    save_set(actor=gwen, source=SET)
    with pytest.raises(Unprocessable) as refused:
        activate_version(actor=gwen, name="parent", number=1)
    (finding,) = refused.value.findings
    assert (finding.code, finding.path) == ("unknown_workflow", "steps/0/workflow/name")
    assert "together" in finding.hint


def test_version_in_force_keeps_the_set_back(gwen: Actor) -> None:
    activated(gwen, CHILD)
    saved = save_draft(actor=gwen, source=PARENT)
    with pytest.raises(Conflict):
        activate_versions(actor=gwen, chosen=[("parent", saved.number), ("child", 1)])
    assert ("parent", 1, "draft") in statuses()


@pytest.mark.parametrize("names", [[], [("parent", 1), ("parent", 1)]])
def test_set_names_each_template_once(gwen: Actor, names: list[tuple[str, int]]) -> None:
    save_set(actor=gwen, source=SET)
    with pytest.raises(Invalid):
        activate_versions(actor=gwen, chosen=names)


def test_twins_in_one_set_are_refused_and_found(gwen: Actor) -> None:
    text = f"{CHILD}---\n{CHILD}"
    with pytest.raises(Invalid):
        save_set(actor=gwen, source=text)
    assert not TemplateVersion.objects.exists()
    found = [(finding.code, finding.line) for one in check_set(actor=gwen, source=text) for finding in one.findings]
    assert found == [("duplicate_workflow", 1), ("duplicate_workflow", 5)]


def test_other_tenants_and_levels_activate_no_set(cast: Cast) -> None:
    saved = chosen(save_set(actor=cast.actor("gwen"), source=SET))
    for name, refusal in (("sam", NotFound), ("ada", Refused), ("uri", NotFound)):
        with pytest.raises(refusal):
            activate_versions(actor=cast.actor(name), chosen=saved)
    for name in ("ada", "uri"):
        with pytest.raises(Refused):
            save_set(actor=cast.actor(name), source=SET)
        with pytest.raises(Refused):
            check_set(actor=cast.actor(name), source=SET)


def test_findings_of_a_set_stand_at_their_lines_of_the_whole_text(gwen: Actor) -> None:
    twice = "workflow: other\nsteps:\n  - {id: a, set: {x: 1}}\n  - {id: a, set: {x: 1}}\n"
    (_, checked) = check_set(actor=gwen, source=f"{CHILD}---\n{twice}")
    (finding,) = checked.findings
    assert (finding.code, finding.line) == ("duplicate_id", 8)
    assert "line 7" in finding.message


def test_import_page_activates_together(gwen: Actor) -> None:
    made = creation.import_documents(actor=gwen, text=SET, activate=True)
    assert {one.status for one in made} == {"active"}


def test_command_imports_a_set_in_any_order_and_all_or_nothing(cast: Cast, tmp_path: Path) -> None:
    file = tmp_path / "set.yaml"
    file.write_text(SET)
    out = io.StringIO()
    call_command("workflow", "import", str(file), "--activate", "--tenant", "acme", stdout=out)
    assert statuses() == {("parent", 1, "active"), ("child", 1, "active")}
    call_command("workflow", "validate", str(file), "--tenant", "globex", stdout=out)
    file.write_text(SET.replace("said: new", "said: other"))
    with pytest.raises(CommandError, match="test_failed"):
        call_command("workflow", "import", str(file), "--activate", "--tenant", "acme", stdout=out)
    assert len(statuses()) == 2


def test_command_tells_the_line_of_the_file_inside_messages_too(tmp_path: Path) -> None:
    file = tmp_path / "set.yaml"
    file.write_text(
        f"{CHILD}---\nworkflow: other\nsteps:\n  - {{id: a, set: {{x: 1}}}}\n  - {{id: a, set: {{x: 1}}}}\n"
    )
    out = io.StringIO()
    with pytest.raises(SystemExit):
        call_command("workflow", "validate", str(file), stdout=out)
    assert ":8:" in out.getvalue()
    assert "line 7" in out.getvalue()
