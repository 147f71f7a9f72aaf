"""Operating in the admin: runtime rows read-only, in sentences, with cancelling the one act."""

import re
from typing import Any

import pytest
from django.urls import reverse

from engine.models import Instance, Task
from engine.services.tasks.lifecycle import claim_task, complete_task
from tests.admin.conftest import BREAKS, SignIn, words_of
from tests.workflows import activated, started
from workflowplatform.accounts.actor import Actor


def page(row: Any, view: str = "change") -> str:
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_{view}", args=[row.pk])


def test_instance_page_says_what_it_waits_for_and_what_happened(sign_in: SignIn, case: Instance) -> None:
    shown = words_of(sign_in("ada").get(page(case)))
    assert "Waits for Finance to take “Review the expense”" in shown
    for words in ("<b>Ada</b> started it", "EXP-1200", "version 1"):
        assert words in shown


TABS = {
    "diagram": "Review",
    "text": "waits here",
    "steps": "What it was given",
    "values": "What it was started with",
    "tasks": "Review the expense",
    "signals": "Calls to the outside",
    "children": "Workflows that it started",
    "engine": "What the engine keeps for itself",
}


@pytest.mark.parametrize("tab", TABS)
def test_every_tab_tells_its_part_within_few_questions(
    sign_in: SignIn, case: Instance, tab: str, django_assert_max_num_queries: Any
) -> None:
    browser = sign_in("ada")
    with django_assert_max_num_queries(30):
        shown = words_of(browser.get(f"{page(case)}?tab={tab}&timeline=whole&before=10"))
    assert TABS[tab] in shown
    assert f'href="?tab={tab}" aria-current="page"' in shown


def test_a_failed_step_shows_what_it_was_given_and_how_it_failed(sign_in: SignIn, gwen: Actor) -> None:
    activated(gwen, BREAKS)
    shown = words_of(sign_in("ada").get(f"{page(started(gwen, 'breaks', over=0))}?tab=steps"))
    assert "How it failed" in shown
    assert "division by zero" in shown.lower() or "divide by zero" in shown.lower()


def test_the_engines_state_stands_apart_from_the_business_data(sign_in: SignIn, case: Instance) -> None:
    browser = sign_in("ada")
    assert "engineSchemaVersion" not in words_of(browser.get(page(case)))
    assert "engineSchemaVersion" in words_of(browser.get(f"{page(case)}?tab=engine"))


def test_acts_say_before_what_they_will_do_to_this_very_case(sign_in: SignIn, case: Instance, gwen: Actor) -> None:
    browser = sign_in("ada")
    shown = words_of(browser.get(page(case)))
    assert "1 open task is withdrawn. Its timers end. This cannot be undone." in shown
    assert "1 open task cannot be answered meanwhile." in shown
    activated(gwen, BREAKS)
    stopped = words_of(browser.get(page(started(gwen, "breaks", over=0))))
    assert "It counts as done, and the flow goes on after it." in stopped


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("q=exp-1200", True),
        ("q=EXP-9", False),
        ("q=ada", True),
        ("q=band=high", True),
        ("q=state.band=high+EXP", True),
        ("q=band=low", False),
        ('q=band="high"', True),
        ("waiting=task", True),
        ("waiting=timer", False),
        ("status__exact=running", True),
        ("status__exact=incident", False),
    ],
)
def test_instances_are_found_by_what_people_know_of_them(
    sign_in: SignIn, case: Instance, asked: str, found: bool
) -> None:
    shown = sign_in("ada").get(f"/admin/engine/instance/?{asked}")
    assert shown.status_code == 200
    assert ("EXP-1200" in re.sub(r"<input[^>]*>", "", words_of(shown))) is found


def test_state_is_a_table_and_no_dump(sign_in: SignIn, case: Instance) -> None:
    shown = words_of(sign_in("ada").get(page(case)))
    assert '<th scope="row">band</th><td>high</td>' in shown
    assert "{&#x27;" not in shown
    assert "{&quot;" not in shown


def test_ended_instance_says_how_and_when(sign_in: SignIn, ada: Actor, task: Task) -> None:
    complete_task(actor=ada, task_id=task.pk, outcome="approve", comment="fine")
    shown = words_of(sign_in("ada").get(page(task.instance)))
    assert "Completed today " in shown
    assert "<b>Ada</b> answered Review the expense: Approve" in shown
    answered = words_of(sign_in("ada").get(page(task)))
    assert "approve by Ada" in answered
    assert "fine" in answered


def test_task_page_explains_by_the_rules_that_decide(sign_in: SignIn, adam: Actor, ada: Actor, task: Task) -> None:
    claim_task(actor=ada, task_id=task.pk)
    assert "Ada claimed this task." in words_of(sign_in("adam").get(page(task)))
    assert "You claimed it, so it is yours." in words_of(sign_in("ada").get(page(task)))


@pytest.mark.parametrize("kind", ["instance", "task", "signal", "deadletter", "audit"])
def test_runtime_rows_cannot_be_written(sign_in: SignIn, case: Instance, kind: str) -> None:
    browser = sign_in("gwen")
    assert browser.get(f"/admin/engine/{kind}/add/").status_code == 403
    if kind == "instance":
        assert browser.post(page(case), {"status": "completed"}).status_code == 403
        assert browser.post(page(case, "delete"), {"post": "yes"}).status_code == 403


def test_cancelling_needs_a_reason_and_level_four(sign_in: SignIn, case: Instance) -> None:
    browser = sign_in("ada")
    assert "Reason to cancel" in words_of(browser.get(page(case)))
    browser.post(page(case, "cancel"), {"answer": ""})
    case.refresh_from_db()
    assert case.status == "running"
    told = browser.post(page(case, "cancel"), {"answer": "Asked twice"}, follow=True)
    case.refresh_from_db()
    assert case.status == "cancelled"
    assert "EXP-1200 is cancelled" in words_of(told)
    assert "Reason to cancel" not in words_of(told)


def test_values_of_a_case_are_shown_as_text(sign_in: SignIn, case: Instance) -> None:
    Instance.objects.filter(pk=case.pk).update(state={"note": "<script>alert(1)</script>", "{{ 7 }}": "x"})
    shown = words_of(sign_in("ada").get(page(case)))
    assert "<script>alert(1)" not in shown
    assert "&lt;script&gt;alert(1)" in shown


def test_first_page_counts_what_runs_and_waits(sign_in: SignIn, case: Instance) -> None:
    shown = words_of(sign_in("ada").get("/admin/"))
    assert "<b>1</b> running" in shown
    assert "<b>1</b> open tasks" in shown
    assert "<b>0</b> running" in words_of(sign_in("sam").get("/admin/"))


def test_audit_names_what_each_act_was_done_to(sign_in: SignIn, case: Instance) -> None:
    shown = words_of(sign_in("ada").get("/admin/engine/audit/"))
    for words in ("instance EXP-1200", "template Expense approval", "person uri", "activated version 1"):
        assert words in shown
