"""Writing templates in the admin: drafts, findings, activation and a version's life."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from engine.models import Audit, Instance, Template, TemplateVersion
from engine.services.templates.versions import activate_version, save_draft
from tests.admin.conftest import EXPENSE, SignIn, sight_of, words_of
from tests.hooks import acts, codes, element, errors, notices, toasts, value, values
from workflowplatform.accounts.actor import Actor

ADD = "/admin/engine/templateversion/add/"
WRONG = EXPENSE.replace("finance", "finanse").replace("title: Expense approval", "titel: Expense approval")


def page(version: TemplateVersion, name: str = "change") -> str:
    return reverse(f"admin:engine_templateversion_{name}", args=[version.pk])


def test_god_writes_a_template_and_sees_it_saved(sign_in: SignIn) -> None:
    browser = sign_in("gwen")
    answer = browser.post(ADD, {"source": EXPENSE.replace("\n", "\r\n"), "_save": "1"}, follow=True)
    version = TemplateVersion.objects.get()
    assert (version.status, version.number, version.source) == ("draft", 1, EXPENSE)
    assert toasts(answer) == ["draft.saved"]
    assert (value("errors", answer), value("red", answer)) == ("0", "0")


def test_findings_stand_with_line_column_code_and_hint(sign_in: SignIn) -> None:
    answer = sign_in("gwen").post(ADD, {"source": WRONG, "_save": "1"}, follow=True)
    findings = TemplateVersion.objects.get().findings
    assert {finding["code"] for finding in findings} >= {"unknown_key"}
    for finding in findings:
        assert f"{finding['line']}:{finding['column']}" in words_of(answer)
        assert finding["code"] in codes("finding", answer)
    assert "titel: Expense approval" in words_of(answer)
    assert value("errors", answer) == str(sum(finding["severity"] == "error" for finding in findings))


def test_activation_is_refused_while_there_are_errors_and_the_draft_stays_saved(sign_in: SignIn) -> None:
    browser = sign_in("gwen")
    shown = browser.post(ADD, {"source": WRONG, "_changes": "1"}, follow=True)
    version = TemplateVersion.objects.get()
    assert shown.redirect_chain[-1][0] == page(version, "changes")
    assert " disabled>" in element('data-act="activate"', shown)
    told = browser.post(page(version, "activate"), follow=True)
    version.refresh_from_db()
    assert (version.status, version.source) == ("draft", WRONG)
    assert told.redirect_chain[-1][0] == page(version, "changes")
    assert value("errors", told) == "2"
    assert notices(told) == ["findings"]


def test_a_draft_is_saved_reviewed_and_activated(sign_in: SignIn, gwen: Actor) -> None:
    draft = save_draft(actor=gwen, source=WRONG)
    browser = sign_in("gwen")
    shown = browser.post(page(draft), {"source": EXPENSE, "revision": "1", "_changes": "1"}, follow=True)
    assert (value("errors", shown), value("red", shown)) == ("0", "0")
    assert "first_version" in values("empty", shown)
    told = browser.post(page(draft, "activate"), follow=True)
    draft.refresh_from_db()
    assert (draft.status, draft.source) == ("active", EXPENSE)
    assert toasts(told) == ["templateversion.activate"]


def test_document_without_a_name_is_told_at_the_source_and_keeps_what_was_typed(sign_in: SignIn) -> None:
    answer = sign_in("gwen").post(ADD, {"source": "steps: []", "_save": "1"})
    assert errors(answer) == ["workflow_missing"]
    assert "steps: []" in words_of(answer)
    assert not Template.objects.exists()


def test_second_author_is_told_and_nothing_is_overwritten(sign_in: SignIn, gwen: Actor) -> None:
    draft = save_draft(actor=gwen, source=EXPENSE)
    first, second = EXPENSE + "# first\n", EXPENSE + "# second\n"
    browser = sign_in("gwen")
    browser.post(page(draft), {"source": first, "revision": "1", "_save": "1"})
    told = browser.post(page(draft), {"source": second, "revision": "1", "_save": "1"})
    draft.refresh_from_db()
    assert draft.source == first
    assert [(line.whose, line.text) for line in told.context_data["adminform"].form.compared][-2:] == [
        ("theirs", "# first"),
        ("yours", "# second"),
    ]
    assert errors(told) == ["revision"]
    for words in ("# first", f"{escape(second)}</textarea>"):
        assert words in words_of(told)
    assert 'name="revision" value="2"' in words_of(told)
    browser.post(page(draft), {"source": second, "revision": "2", "_save": "1"})
    draft.refresh_from_db()
    assert draft.source == second


def test_a_draft_that_was_activated_meanwhile_keeps_what_was_typed_on_the_page(
    sign_in: SignIn, expense: TemplateVersion
) -> None:
    told = sign_in("gwen").post(page(expense), {"source": EXPENSE + "# late\n", "revision": "1", "_save": "1"})
    assert errors(told) == ["status"]
    assert "# late" in words_of(told)
    expense.refresh_from_db()
    assert expense.source == EXPENSE


def test_versions_pause_resume_archive_and_begin_anew(sign_in: SignIn, expense: TemplateVersion) -> None:
    browser = sign_in("gwen")
    for act, status in (("pause", "paused"), ("resume", "active"), ("archive", "archived")):
        browser.post(reverse(f"admin:engine_templateversion_{act}", args=[expense.pk]))
        expense.refresh_from_db()
        assert expense.status == status
    answer = browser.post(reverse("admin:engine_templateversion_begin", args=[expense.pk]), follow=True)
    fresh = TemplateVersion.objects.get(number=2)
    assert (fresh.status, fresh.source) == ("draft", EXPENSE)
    assert answer.redirect_chain[-1][0] == page(fresh)


def test_a_deleted_draft_leads_back_to_the_list(sign_in: SignIn, gwen: Actor) -> None:
    draft = save_draft(actor=gwen, source=EXPENSE)
    answer = sign_in("gwen").post(reverse("admin:engine_templateversion_discard", args=[draft.pk]), follow=True)
    assert answer.redirect_chain[-1][0] == reverse("admin:engine_template_changelist")
    assert not Template.objects.exists()


def test_a_wrong_move_is_refused(sign_in: SignIn, expense: TemplateVersion) -> None:
    answer = sign_in("gwen").post(reverse("admin:engine_templateversion_resume", args=[expense.pk]), follow=True)
    assert notices(answer) == ["status"]


@pytest.mark.wording
def test_the_preview_of_archiving_counts_the_instances_of_the_version(
    sign_in: SignIn, gwen: Actor, case: Instance
) -> None:
    version = case.version
    shown = sight_of(sign_in("gwen").get(page(version)))
    assert "Version 1 will no longer be active." in shown
    assert "1 instance runs on it and continues to its end." in shown
    save_draft(actor=gwen, source=EXPENSE + "# next\n")
    activate_version(actor=gwen, name="expense", number=2)
    shown = sight_of(sign_in("gwen").get(page(version)))
    assert "Version 2 will be archived. No instances run on it." in shown


def test_buttons_answer_posts_only(sign_in: SignIn, expense: TemplateVersion) -> None:
    address = reverse("admin:engine_templateversion_archive", args=[expense.pk])
    assert sign_in("gwen").get(address).status_code == 405
    guarded = Client(enforce_csrf_checks=True)
    guarded.cookies = sign_in("gwen").cookies
    assert guarded.post(address).status_code == 403
    expense.refresh_from_db()
    assert expense.status == "active"


def test_level_four_reads_templates_and_changes_nothing(sign_in: SignIn, gwen: Actor, expense: TemplateVersion) -> None:
    draft = save_draft(actor=gwen, source=EXPENSE + "# next\n")
    browser = sign_in("ada")
    shown = browser.get(page(draft))
    assert "# next" in words_of(shown)
    assert "<textarea" not in words_of(shown)
    assert acts(shown).isdisjoint({"review", "save", "try", "discard"})
    assert browser.get(ADD).status_code == 403
    assert browser.post(page(draft), {"source": "x", "revision": "1", "_save": "1"}).status_code == 403
    told = browser.post(reverse("admin:engine_templateversion_archive", args=[expense.pk]), follow=True)
    assert notices(told) == ["level"]
    expense.refresh_from_db()
    assert expense.status == "active"


def test_template_opens_at_the_version_an_author_means(sign_in: SignIn, gwen: Actor, expense: TemplateVersion) -> None:
    address = reverse("admin:engine_template_change", args=[expense.template_id])
    assert sign_in("gwen").get(address).headers["Location"] == page(expense)
    draft = save_draft(actor=gwen, source=EXPENSE)
    assert sign_in("gwen").get(address).headers["Location"] == page(draft)


def test_source_is_shown_as_text(sign_in: SignIn, gwen: Actor) -> None:
    draft = save_draft(actor=gwen, source=EXPENSE + "# </textarea><script>alert(1)</script>\n")
    for name in ("gwen", "ada"):
        assert "<script>alert(1)" not in words_of(sign_in(name).get(page(draft)))


def test_history_of_a_version_is_its_templates_audit(sign_in: SignIn, expense: TemplateVersion) -> None:
    shown = sign_in("ada").get(reverse("admin:engine_templateversion_history", args=[expense.pk]))
    assert codes("entry", shown) == ["activate_template", "create_template"]
    assert Audit.objects.filter(subject_id=expense.template_id).count() == 2


@pytest.mark.parametrize("source", ["", "a: [", "{{{{", "workflow: x\nsteps: " + "[" * 300, "\x00", "workflow: ü\n"])
def test_no_source_breaks_the_page(sign_in: SignIn, source: str) -> None:
    assert sign_in("gwen").post(ADD, {"source": source, "_save": "1"}, follow=True).status_code == 200
