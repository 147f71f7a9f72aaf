"""Retention in the admin: how long work is kept, said as people say it, and what would go now."""

import re
from datetime import timedelta

import pytest

from engine.admin.durations import read_window, window_words
from engine.audit.chain import database_now
from engine.models import Instance, RetentionRule, RetentionRun
from engine.services.instances.lifecycle import cancel_instance
from engine.services.retention.purge import WINDOWS, preview_retention, set_retention
from tests.admin.conftest import SignIn, words_of
from tests.admin.test_operations import page
from tests.hooks import form_errors, value
from workflowplatform.accounts.actor import Actor


def test_retention_says_what_would_go_and_lets_nothing_go(
    sign_in: SignIn, gwen: Actor, sam: Actor, case: Instance
) -> None:
    cancel_instance(actor=gwen, instance_id=case.pk, reason="x")
    Instance.objects.filter(pk=case.pk).update(ended_at=database_now() - timedelta(days=40))
    browser = sign_in("gwen")
    browser.post("/admin/engine/retentionrule/add/", {"template": "", "cancelled_for": "30 days"})
    rule = RetentionRule.objects.get()
    assert (rule.cancelled_for, rule.template) == ("P30D", None)
    assert "30 days" in words_of(browser.get("/admin/engine/retentionrule/"))
    shown = words_of(sign_in("ada").get("/admin/engine/retentionrule/preview/"))
    assert "Expense approval" in shown
    assert Instance.objects.filter(pk=case.pk).exists()
    set_retention(actor=sam, cancelled_for="P1D")
    assert preview_retention(actor=sam) == []
    assert "Expense" not in words_of(sign_in("sam").get("/admin/engine/retentionrule/preview/"))


def test_a_window_that_cannot_be_read_is_refused_at_its_field(sign_in: SignIn, gwen: Actor) -> None:
    rule = set_retention(actor=gwen, completed_for="P1Y")
    refused = sign_in("gwen").post(page(rule), {"completed_for": "a while"})
    assert form_errors(refused.context["adminform"].form) == {"completed_for": ["period"]}
    rule.refresh_from_db()
    assert rule.completed_for == "P1Y"
    assert sign_in("ada").post(page(rule), {"completed_for": "P1D"}).status_code == 403
    assert sign_in("sam").post(page(rule), {"completed_for": "P1D"}).status_code == 404


def test_how_long_is_typed_and_read_as_people_say_it(sign_in: SignIn, gwen: Actor) -> None:
    rule = set_retention(actor=gwen, completed_for="P1Y", audit_for="P7Y", runtime_for="PT36H")
    browser = sign_in("gwen")
    form = browser.get(page(rule)).context["adminform"].form
    assert [form[name].value() for name in WINDOWS] == ["1 year", "", "PT36H", "7 years"]
    browser.post(page(rule), {"completed_for": "1 year, 6 months", "cancelled_for": "p90d", "runtime_for": "2 Weeks"})
    rule.refresh_from_db()
    assert [getattr(rule, name) for name in WINDOWS] == ["P1Y6M", "P90D", "P2W", ""]


@pytest.mark.parametrize(
    ("typed", "window", "said"),
    [
        ("90 days", "P90D", "90 days"), ("1 day", "P1D", "1 day"), ("12months", "P12M", "12 months"), ("7y", "P7Y", "7 years"),
        ("1 year and 6 months, 2 days", "P1Y6M2D", "1 year, 6 months and 2 days"), ("0 days", "P0D", "0 days"),
        (" 2  weeks ", "P2W", "2 weeks"), ("", "", ""), ("PT36H", "PT36H", "PT36H"),
    ],
)  # fmt: skip
def test_a_length_of_time_is_read_and_said(typed: str, window: str, said: str) -> None:
    assert read_window(typed) == window
    assert window_words(window) == said
    assert read_window(said) == window


@pytest.mark.parametrize(
    "typed", ["a while", "90", "ninety days", "90 days ago", "-3 days", "1.5 years", "P", "days", "٣ days"]
)
def test_what_is_no_length_of_time_is_refused_in_a_sentence(typed: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"“{typed}”")):
        read_window(typed)


def test_a_second_rule_for_the_same_never_writes_over_the_first(sign_in: SignIn, gwen: Actor, sam: Actor) -> None:
    rule = set_retention(actor=gwen, completed_for="P1Y")
    set_retention(actor=sam, completed_for="P3Y")
    refused = sign_in("gwen").post("/admin/engine/retentionrule/add/", {"template": "", "audit_for": "1 year"})
    assert form_errors(refused.context["adminform"].form) == {"template": ["taken"]}
    rule.refresh_from_db()
    assert (rule.completed_for, rule.audit_for) == ("P1Y", "")


def test_the_last_run_is_shown_above_the_rules(sign_in: SignIn, gwen: Actor, sam: Actor) -> None:
    set_retention(actor=gwen, completed_for="P1Y")
    now = database_now()
    RetentionRun.objects.create(tenant_id=gwen.tenant_id, began_at=now, ended_at=now, counts={"completed": 7})
    shown = sign_in("ada").get("/admin/engine/retentionrule/")
    assert (value("deleted", shown), value("count", shown)) == ("completed", "7")
    assert 'data-part="last_run"' not in words_of(sign_in("sam").get("/admin/engine/retentionrule/"))
