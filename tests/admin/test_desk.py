"""The editor's API, the pages of a version, and which level may do what there."""

import json
import random
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from engine.kernel.timing.periods import parse_moment
from engine.models import TemplateVersion
from engine.services.instances.lifecycle import start_instance
from engine.services.templates.versions import save_draft
from tests.admin.conftest import EXPENSE, SignIn, words_of
from tests.hooks import acts, element, notices, part, toasts, value, values
from workflowplatform.accounts.actor import Actor

PAGES = ("try", "forms", "changes", "versions", "export")
POSTED = ("activate", "duplicate", "rollback", "begin")
TIMED = EXPENSE + "  - id: sleep\n    wait: {for: P2D}\n"


def address(name: str, *args: Any) -> str:
    return reverse(f"admin:engine_templateversion_{name}", args=args)


def ask(browser: Client, name: str, body: Any) -> Any:
    text = body if isinstance(body, bytes | str) else json.dumps(body)
    return browser.post(address(name), text, content_type="application/json")


def test_the_editor_gets_findings_places_a_flow_and_words(sign_in: SignIn) -> None:
    browser = sign_in("gwen")
    seen = ask(browser, "look", {"source": EXPENSE.replace("finance", "finanse")}).json()
    assert seen["findings"][0]["line"] == 15
    assert seen["places"]["review"] == {"line": 12, "last": 16}
    assert {child["id"] for child in seen["graph"]["children"]} == {"start", "band", "review", "end"}
    assert "finance" in browser.get(address("words")).json()["roles"]


def test_the_second_author_is_told_while_typing(sign_in: SignIn, gwen: Actor) -> None:
    draft = save_draft(actor=gwen, source=EXPENSE)
    said = {"source": EXPENSE, "version": str(draft.pk), "revision": 1}
    assert ask(sign_in("gwen"), "look", said).json()["newer"] == ""
    save_draft(actor=gwen, source=EXPENSE + "# more\n", name="expense", number=1, revision=1)
    assert ask(sign_in("gwen"), "look", said).json()["newer"].startswith("Gwen ")
    assert ask(sign_in("sam"), "look", said).json()["newer"] == ""


def pasted() -> list[str]:
    """Make texts that a person may paste: pieces of a template, torn and mixed."""
    chance = random.Random(6)
    pieces = [
        *EXPENSE.split("\n"),
        "{",
        "]",
        "- -",
        "\t",
        "&a",
        "*a",
        "!x",
        "\x07",
        "😀",
        '"',
        "''",
        ": :",
        "#",
        "- id: 7",
        "if: (",
    ]
    return ["\n".join(chance.choices(pieces, k=chance.randint(1, 12))) for _ in range(40)]


def test_anything_pasted_gives_findings_and_never_a_server_error(sign_in: SignIn) -> None:
    browser = sign_in("gwen")
    for source in [*pasted(), "\ud800", "[" * 5000, "a: " * 9000, "\0", "x" * 100_000]:
        seen = ask(browser, "look", {"source": source})
        assert seen.status_code == 200, source
        assert seen.json()["findings"], source
        assert ask(browser, "tests", {"source": source}).json() == {"tests": []}
        assert ask(browser, "picture", {"source": source, "graph": {}}).status_code == 400


@pytest.mark.parametrize(
    "body",
    ["", "{", "[]", "7", b"\xff", "[" * 100_000, {"source": 7}, {"source": EXPENSE, "version": 7, "revision": {}}],
)
def test_no_question_breaks_the_desk(sign_in: SignIn, body: Any) -> None:
    for name in ("look", "picture", "tests"):
        assert ask(sign_in("gwen"), name, body).status_code in (200, 400)


def test_level_four_is_not_answered_at_the_desk(sign_in: SignIn) -> None:
    for name in ("look", "picture", "tests"):
        assert ask(sign_in("ada"), name, {"source": EXPENSE}).status_code == 403
    assert sign_in("ada").get(address("words")).status_code == 403
    for name in ("gallery", "import"):
        assert sign_in("ada").get(address(name)).status_code == 403
        assert sign_in("ada").post(address(name), {"name": "refund", "text": EXPENSE}).status_code == 403
    assert not TemplateVersion.objects.exists()


def test_pages_of_another_tenants_version_are_not_there(sign_in: SignIn, expense: TemplateVersion) -> None:
    sam = sign_in("sam")
    for name in PAGES:
        assert sam.get(address(name, expense.pk)).status_code == 404
    for name in (*POSTED, "try"):
        assert sam.post(address(name, expense.pk), {"act": "start"}).status_code == 404
    assert TemplateVersion.objects.count() == 1


def test_level_four_reads_a_versions_pages_and_does_not_try_it(sign_in: SignIn, expense: TemplateVersion) -> None:
    ada = sign_in("ada")
    for name in ("forms", "changes", "versions", "export"):
        assert ada.get(address(name, expense.pk)).status_code == 200
    assert "duplicate" not in acts(ada.get(address("versions", expense.pk)))
    assert "duplicate" in acts(sign_in("gwen").get(address("versions", expense.pk)))
    assert ada.post(address("try", expense.pk), {"act": "start", "f.amount": "1"}).status_code == 403
    for name in POSTED:
        assert notices(ada.post(address(name, expense.pk), follow=True)) == ["level"]
    assert TemplateVersion.objects.count() == 1


def test_changes_say_whom_they_meet(sign_in: SignIn, gwen: Actor, ada: Actor, expense: TemplateVersion) -> None:
    for amount in (1, 2, 3):
        start_instance(actor=ada, template="expense", input={"amount": amount})
    draft = save_draft(actor=gwen, source=EXPENSE.replace("[finance]", "[hr]"))
    shown = sign_in("gwen").get(address("changes", draft.pk))
    assert (values("change", shown), values("step", shown), values("here", shown)) == (["changed"], ["review"], ["3"])
    assert "finance → hr" in part("changes", shown)
    assert (value("running", shown), value("against", shown)) == ("3", "1")


def test_a_red_test_keeps_a_draft_from_being_activated(sign_in: SignIn, gwen: Actor) -> None:
    red = EXPENSE + "tests:\n  - name: never so\n    start: {amount: 1}\n    expect: {status: cancelled}\n"
    draft = save_draft(actor=gwen, source=red)
    browser = sign_in("gwen")
    shown = browser.get(address("changes", draft.pk))
    assert (value("errors", shown), value("red", shown)) == ("0", "1")
    assert " disabled>" in element('data-act="activate"', shown)
    browser.post(address("activate", draft.pk))
    draft.refresh_from_db()
    assert draft.status == "draft"


def tried(browser: Client, version: TemplateVersion, test: Any = None, **typed: str) -> Any:
    return browser.post(address("try", version.pk), {"test": json.dumps(test or {}), **typed})


def test_a_draft_is_tried_with_its_real_forms_and_a_clock_that_jumps(sign_in: SignIn, gwen: Actor) -> None:
    draft = save_draft(actor=gwen, source=TIMED)
    browser = sign_in("gwen")
    assert "start" in acts(browser.get(address("try", draft.pk)))
    refused = tried(browser, draft, act="start")
    assert notices(refused) == ["invalid"]
    assert "Amount" in element('data-notice data-code="invalid"', refused)
    begun = tried(browser, draft, act="start", **{"f.amount": "1200"})
    assert (value("status", element("data-tasks", begun)), value("tasks", begun)) == ("running", "1")
    test = json.loads(begun.context_data["wf_test"])
    refused = tried(browser, draft, test, act="complete", task="review", outcome="approve", by="nobody")
    assert notices(refused) == ["refused"]
    assert "not_candidate" in words_of(refused)
    answered = tried(browser, draft, test, act="complete", task="review", outcome="approve")
    assert (value("tasks", answered), value("timers", answered)) == ("0", "1")
    test = json.loads(answered.context_data["wf_test"])
    ended = tried(browser, draft, test, act="advance", **{"for": answered.context_data["wf_trial"].timers[0].advance})
    assert value("status", element("data-tasks", ended)) == "completed"
    test = json.loads(ended.context_data["wf_test"])
    assert value("timers", tried(browser, draft, test, act="undo")) == "1"
    assert "start" in acts(tried(browser, draft, test, act="again"))
    tried(browser, draft, test, act="keep", title="after two days", revision="1")
    draft.refresh_from_db()
    assert draft.source.startswith(TIMED)
    assert "name: after two days" in draft.source
    assert draft.findings == []


def test_a_trial_begins_now_or_when_the_author_says_and_a_kept_run_keeps_its_moment(
    sign_in: SignIn, gwen: Actor
) -> None:
    draft = save_draft(actor=gwen, source=TIMED)
    browser = sign_in("gwen")
    before = timezone.now().replace(second=0, microsecond=0)
    begun = json.loads(tried(browser, draft, act="start", **{"f.amount": "1"}).context_data["wf_test"])
    assert before <= parse_moment(begun["at"]) <= timezone.now()
    friday = {"f.amount": "1", "trial_clock": "2030-01-04T16:30"}
    test = json.loads(tried(browser, draft, act="start", **friday).context_data["wf_test"])
    assert test["at"] == "2030-01-04T16:30:00Z"
    tried(browser, draft, test, act="keep", title="on a Friday", revision="1")
    draft.refresh_from_db()
    assert "2030-01-04T16:30:00Z" in draft.source
    assert draft.findings == []
    refused = tried(browser, draft, act="start", **friday | {"trial_clock": "tomorrow"})
    assert notices(refused) == ["clock"]
    assert 'value="tomorrow"' in words_of(refused)


@pytest.mark.parametrize(
    "typed",
    [
        {"test": "{"}, {"test": "[]"}, {"test": '{"do": 7}', "act": "undo"}, {"act": "complete"}, {"act": "nothing"},
        {"act": "signal", "with": "{"}, {"act": "stub", "step": "x", "answer": "7"}, {"act": "advance", "for": "x"},
        {"act": "keep", "title": "x", "revision": "9" * 40}, {"act": "keep"}, {"test": '{"start": 7, "do": [7]}', "act": "again"},
        {"test": '{"start": {"amount": 1}, "do": [7]}', "act": "undo"}, {"act": "stub", "step": "x", "answer": "{}"},
        {"act": "start", "f.amount": "1", "trial_clock": "0001-01-01T00:00"},
        {"act": "start", "f.amount": "1", "trial_clock": "9999-12-31T23:59"},
    ],
)  # fmt: skip
def test_no_act_breaks_a_trial(sign_in: SignIn, expense: TemplateVersion, typed: dict[str, str]) -> None:
    answer = sign_in("gwen").post(address("try", expense.pk), {"test": '{"start": {"amount": 1}, "do": []}', **typed})
    assert answer.status_code == 200
    expense.refresh_from_db()
    assert expense.source == EXPENSE


def test_forms_are_shown_as_people_will_see_them(sign_in: SignIn, expense: TemplateVersion) -> None:
    shown = sign_in("ada").get(address("forms", expense.pk))
    assert "Amount" in part("start_form", shown)
    for words in ("Review the expense", "Approve", "Reject"):
        assert words in words_of(shown)


def test_a_draft_with_errors_has_every_page(sign_in: SignIn, gwen: Actor) -> None:
    draft = save_draft(actor=gwen, source=EXPENSE.replace("task:", "tusk:"))
    for name in PAGES:
        assert sign_in("gwen").get(address(name, draft.pk), follow=True).status_code == 200
    assert notices(sign_in("gwen").get(address("export", draft.pk) + "?format=json", follow=True)) == ["findings"]


def test_versions_are_listed_exported_duplicated_and_rolled_back(
    sign_in: SignIn, gwen: Actor, expense: TemplateVersion
) -> None:
    browser = sign_in("gwen")
    second = save_draft(actor=gwen, source=EXPENSE + "# second\n")
    browser.post(address("activate", second.pk))
    told = browser.post(address("rollback", expense.pk), follow=True)
    assert toasts(told)[-1] == "templateversion.rollback"
    assert TemplateVersion.objects.get(number=3, template__name="expense").source == EXPENSE
    browser.post(address("duplicate", expense.pk))
    assert TemplateVersion.objects.get(template__name="expense-2").status == "draft"
    exported = browser.get(address("export", second.pk) + "?format=yaml")
    assert exported.content.decode().endswith("# second\n")
    assert exported["Content-Disposition"] == 'attachment; filename="expense-2.yaml"'


def test_the_gallery_and_files_begin_templates(sign_in: SignIn) -> None:
    browser = sign_in("gwen")
    assert "use" in acts(browser.get(address("gallery")))
    assert toasts(browser.post(address("gallery"), {"name": "refund"}, follow=True)) == ["template.copied"]
    assert browser.post(address("gallery"), {"name": "none"}).status_code == 404
    assert toasts(browser.post(address("import"), {"text": EXPENSE}, follow=True)) == ["template.imported"]
    refused = browser.post(address("import"), {"text": "steps: []"})
    assert (refused.status_code, notices(refused)) == (400, ["invalid"])
    unread = browser.post(address("import"), {"file": SimpleUploadedFile("x.yaml", b"\xff\xfe\x00")})
    assert notices(unread) == ["encoding"]
    assert TemplateVersion.objects.count() == 2


def test_rows_of_a_form_grow_without_an_act(sign_in: SignIn, gwen: Actor) -> None:
    rows = "input: {type: object, properties: {lines: {type: array, items: {type: object, properties: {x: {type: string}}}}}}\n"
    draft = save_draft(actor=gwen, source="workflow: rows\n" + rows + "steps:\n  - {id: a, set: {x: 1}}\n")
    grown = tried(sign_in("gwen"), draft, act="start", rows="add:f.lines")
    assert "start" in acts(grown)
    assert grown.context_data["wf_problem"] == ""
