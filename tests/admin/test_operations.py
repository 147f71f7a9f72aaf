"""Operating in the admin: runtime rows read-only, in sentences, with cancelling the one act."""

import re
from typing import Any

import pytest
from django.urls import reverse

from engine.admin.descriptions import ACTS
from engine.models import Instance, Task
from engine.services.tasks.lifecycle import claim_task, complete_task
from tests.admin.conftest import BREAKS, SignIn, words_of
from tests.hooks import acts, allowing, codes, part, refusing, toasts, value, values
from tests.workflows import activated, started
from workflowplatform.accounts.actor import Actor


def figures(shown: Any) -> dict[str, str]:
    """Return the numbers of the dashboard by name."""
    return dict(zip(values("figure", shown), values("value", shown), strict=True))


def page(row: Any, view: str = "change") -> str:
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_{view}", args=[row.pk])


def test_instance_page_says_what_it_waits_for_and_what_happened(sign_in: SignIn, case: Instance) -> None:
    shown = sign_in("ada").get(page(case))
    assert "Review the expense" in part("summary", shown)
    assert "start_workflow" in codes("entry", part("timeline", shown))
    assert "<b>Ada</b>" in part("timeline", shown)
    assert (value("version", shown), "EXP-1200" in words_of(shown)) == ("1", True)


TABS = {
    "diagram": "Review",
    "text": 'data-state="here"',
    "steps": 'data-part="runs"',
    "values": 'data-part="input"',
    "tasks": "Review the expense",
    "signals": 'data-part="calls"',
    "children": 'data-part="children"',
    "engine": 'data-part="runtime"',
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
    shown = part("error", sign_in("ada").get(f"{page(started(gwen, 'breaks', over=0))}?tab=steps"))
    assert "division by zero" in shown.lower() or "divide by zero" in shown.lower()


def test_the_engines_state_is_separate_from_the_business_data(sign_in: SignIn, case: Instance) -> None:
    browser = sign_in("ada")
    assert "engineSchemaVersion" not in words_of(browser.get(page(case)))
    assert "engineSchemaVersion" in words_of(browser.get(f"{page(case)}?tab=engine"))


@pytest.mark.wording
def test_previews_say_what_an_action_will_do_to_this_instance(sign_in: SignIn, case: Instance, gwen: Actor) -> None:
    browser = sign_in("ada")
    shown = words_of(browser.get(page(case)))
    assert "1 open task is withdrawn. This cannot be undone." in shown
    assert "1 open task cannot be answered meanwhile." in shown
    activated(gwen, BREAKS)
    stopped = words_of(browser.get(page(started(gwen, "breaks", over=0))))
    assert "The step counts as done, and the instance continues after it." in stopped


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
    shown = sign_in("ada").get(page(task.instance))
    assert value("status", shown) == "completed"
    assert "task_completed" in codes("entry", part("timeline", shown))
    answer = part("answer", sign_in("ada").get(page(task)))
    assert value("outcome", answer) == "approve"
    assert "Ada" in answer
    assert "fine" in answer


def test_task_page_explains_by_the_rules_that_decide(sign_in: SignIn, adam: Actor, ada: Actor, task: Task) -> None:
    claim_task(actor=ada, task_id=task.pk)
    assert refusing(sign_in("adam").get(page(task))) == ["claimed"]
    assert "yours" in allowing(sign_in("ada").get(page(task)))


@pytest.mark.parametrize("kind", ["instance", "task", "signal", "deadletter", "audit"])
def test_runtime_rows_cannot_be_written(sign_in: SignIn, case: Instance, kind: str) -> None:
    browser = sign_in("gwen")
    assert browser.get(f"/admin/engine/{kind}/add/").status_code == 403
    if kind == "instance":
        assert browser.post(page(case), {"status": "completed"}).status_code == 403
        assert browser.post(page(case, "delete"), {"post": "yes"}).status_code == 403


def test_cancelling_needs_a_reason_and_level_four(sign_in: SignIn, case: Instance) -> None:
    browser = sign_in("ada")
    assert "cancel" in acts(browser.get(page(case)))
    browser.post(page(case, "cancel"), {"answer": ""})
    case.refresh_from_db()
    assert case.status == "running"
    told = browser.post(page(case, "cancel"), {"answer": "Asked twice"}, follow=True)
    case.refresh_from_db()
    assert case.status == "cancelled"
    assert toasts(told) == ["instance.cancel"]
    assert "cancel" not in acts(told)


def test_values_of_a_case_are_shown_as_text(sign_in: SignIn, case: Instance) -> None:
    Instance.objects.filter(pk=case.pk).update(state={"note": "<script>alert(1)</script>", "{{ 7 }}": "x"})
    shown = words_of(sign_in("ada").get(page(case)))
    assert "<script>alert(1)" not in shown
    assert "&lt;script&gt;alert(1)" in shown


def test_first_page_counts_what_runs_and_waits(sign_in: SignIn, case: Instance) -> None:
    ours, theirs = (figures(sign_in(name).get("/admin/")) for name in ("ada", "sam"))
    assert (ours["running"], ours["tasks"], theirs["running"]) == ("1", "1", "0")


def test_audit_names_what_each_act_was_done_to(sign_in: SignIn, case: Instance) -> None:
    shown = words_of(sign_in("ada").get("/admin/engine/audit/"))
    for words in ("instance EXP-1200", "template Expense approval", "person uri"):
        assert words in shown
    assert ACTS["activate_template"].format(new={"version": 1}) in shown
