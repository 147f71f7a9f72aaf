"""Filters, orders, and acts on many rows of a list."""

import csv
import io
import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from engine.models import Audit, Task
from engine.services.tasks.lifecycle import claim_task, complete_task
from engine.services.tasks.suspension import resume_task, suspend_task
from tasks_inbox.presenters.bulk_words import ALL_DONE
from tasks_inbox.presenters.lists import PAGE
from tests.cast import Cast
from tests.hooks import acts, codes, element, page_name, toast, toasts, value, values
from tests.inbox.conftest import SignIn
from tests.inbox.test_lists import some_tasks, titles
from tests.workflows import activated, hurried, only_task, started

PAID = """
workflow: paid
title: Paid
starters: {min_level: 2}
input: {type: object, properties: {sum: {type: number}}}
steps:
  - id: pay
    task: {title: Pay it, roles: [finance], columns: {sum: "${money(start.sum, 'EUR')}"}}
"""


def chosen(client: Client, action: str, *tasks: Task, view: str = "available", **fields: str) -> Any:
    rows = {"task": [str(task.pk) for task in tasks], "action": action, "back": f"view={view}"}
    return client.post("/inbox/bulk/", rows | fields, follow=True)


def all_done(action: str, done: int) -> str:
    return str(ALL_DONE[action]) % {"done": done}


def test_filters_keep_what_fits_and_say_so(cast: Cast, review: str, board: str, browser: SignIn) -> None:
    first, second, third = some_tasks(cast, 3)
    now = timezone.now()
    hurried(first, priority=3, due_at=now - timedelta(hours=1))
    hurried(second, due_at=now + timedelta(days=3))
    started(cast.actor("uri"), "board", subject="van")
    adam = browser("adam")
    wanted = {
        "priority=critical": [first.title],
        "due=late": [first.title],
        "due=week": [first.title, second.title],
        "due=none&role=finance": [third.title, "Prepare van"],
        "role=management": ["Prepare van"],
        "reference=exp-trip+1": [second.title],
        "template=board&role=finance": ["Prepare van"],
        "priority=purple&due=never&sort=random": [first.title, second.title, third.title, "Prepare van"],
    }
    assert {asked: titles(adam, f"/inbox/?view=team&{asked}") for asked in wanted} == wanted
    html = adam.get("/inbox/?view=team&due=late&role=hr").content.decode()
    assert value("empty", html) == "filters"
    assert 'href="?view=team&amp;due=late"' in html


def test_pages_walk_every_order_to_its_end(cast: Cast, review: str, browser: SignIn) -> None:
    tasks, ada = some_tasks(cast, PAGE + 2), browser("ada")
    now = timezone.now()
    for number, task in enumerate(tasks):
        hurried(task, due_at=None if number % 3 == 0 else now + timedelta(days=number % 4))
    by_due = sorted(tasks, key=lambda task: (task.due_at is None, task.due_at or now, task.pk))
    orders = {"oldest": tasks, "newest": tasks[::-1], "due": by_due}
    walked = {sort: walk(ada, f"/inbox/?view=available&sort={sort}") for sort in orders}
    assert walked == {sort: [task.title for task in order] for sort, order in orders.items()}


def walk(client: Client, address: str) -> list[str]:
    """Read two pages of a list."""
    mark = re.search(r"after=([^\"&]+)", client.get(address).content.decode())
    assert mark
    return titles(client, address) + titles(client, f"{address}&after={mark[1]}")


def test_chosen_tasks_are_claimed_and_released_together(cast: Cast, review: str, browser: SignIn) -> None:
    tasks, ada = some_tasks(cast, 3), browser("ada")
    answer = chosen(ada, "claim", *tasks[:2])
    assert all_done("claim", 2) in toast("tasks.claim", answer)
    assert answer.redirect_chain[-1][0] == "/inbox/?view=available"
    assert len(titles(ada, "/inbox/")) == 2
    assert all_done("release", 2) in toast("tasks.release", chosen(ada, "release", *tasks[:2], view="mine"))
    assert titles(ada, "/inbox/") == []


def test_what_was_claimed_together_is_given_back_by_undo(cast: Cast, review: str, browser: SignIn) -> None:
    tasks, ada = some_tasks(cast, 3), browser("ada")
    html = chosen(ada, "claim", *tasks[:2]).content.decode()
    undo = re.search(r'action="(/inbox/bulk/\?[^"]+)"', html)
    assert undo
    answer = ada.post(unescape(undo[1]), follow=True)
    assert answer.redirect_chain == [("/inbox/?view=available", 302)]
    assert all_done("release", 2) in toast("tasks.release", answer)
    assert titles(ada, "/inbox/?view=available") == [task.title for task in tasks]


def test_what_could_not_be_done_says_why_row_by_row(cast: Cast, review: str, browser: SignIn) -> None:
    tasks = some_tasks(cast, 2)
    own = some_own(cast)
    answer = chosen(browser("ada"), "claim", *tasks, own)
    html = answer.content.decode()
    assert (value("done", html), value("left", html)) == ("2", "1")
    assert codes("result", html) == ["four_eyes", "done", "done"]


def some_own(cast: Cast) -> Task:
    return started(cast.actor("ada"), "review", what="own", amount=1).tasks.get()


def test_chosen_tasks_are_given_to_somebody(cast: Cast, review: str, browser: SignIn) -> None:
    tasks = some_tasks(cast, 2)
    answer = chosen(browser("gwen"), "assign", *tasks, view="team", person="ada")
    assert all_done("assign", 2) in toast("tasks.assign", answer)
    assert set(Task.objects.values_list("assignee__username", flat=True)) == {"ada"}


def test_nothing_chosen_and_nonsense_are_told_on_the_list(cast: Cast, review: str, browser: SignIn) -> None:
    task, gwen = some_tasks(cast, 1)[0], browser("gwen")
    assert toasts(chosen(gwen, "claim")) == ["length"]
    assert toasts(chosen(gwen, "assign", task)) == ["required"]
    assert toasts(chosen(gwen, "burn", task)) == ["invalid"]
    assert gwen.post("/inbox/bulk/", {"task": "x", "action": "claim"}).status_code == 302
    assert gwen.get("/inbox/bulk/").status_code == 405


def test_tasks_of_others_are_as_good_as_none(cast: Cast, review: str, browser: SignIn) -> None:
    task = some_tasks(cast, 1)[0]
    html = chosen(browser("sam"), "claim", task).content.decode()
    assert (value("done", html), value("left", html)) == ("0", "1")
    assert task.title not in html


def test_next_task_is_the_most_urgent_and_opens(cast: Cast, review: str, browser: SignIn) -> None:
    _calm, urgent = some_tasks(cast, 2)
    hurried(urgent, priority=3)
    ada = browser("ada")
    assert "next" in acts(ada.get("/inbox/?view=available"))
    opened = ada.post("/inbox/next/", follow=True)
    assert opened.redirect_chain == [(f"/inbox/tasks/{urgent.pk}/", 302)]
    assert f'action="/inbox/tasks/{urgent.pk}/release/"' in toast("task.claimed", opened)
    nothing = ada.post("/inbox/next/", {"template": "nothing-such"}, follow=True)
    assert toasts(nothing) == ["next.none"]


def test_done_list_shows_the_answer(cast: Cast, review: str, browser: SignIn) -> None:
    task = some_tasks(cast, 1)[0]
    complete_task(actor=cast.actor("ada"), task_id=task.pk, outcome="approve", values={"note": "ok"})
    assert '<span class="wf-tag">Approve</span>' in browser("ada").get("/inbox/?view=done").content.decode()


@pytest.mark.wording
def test_started_list_says_what_each_case_waits_for(cast: Cast, review: str, browser: SignIn) -> None:
    task, _other = some_tasks(cast, 2)
    claim_task(actor=cast.actor("ada"), task_id=task.pk)
    html = browser("uri").get("/inbox/started/").content.decode()
    assert "Ada in Finance is deciding, since today" in html
    assert "Waiting for Finance to claim “Review trip 1”, since today" in html


def test_started_list_costs_the_same_for_one_case_and_for_many(
    cast: Cast, review: str, browser: SignIn, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    uri = browser("uri")
    for count in (1, 4):
        some_tasks(cast, count)
        with django_assert_num_queries(10):
            uri.get("/inbox/started/")


# More than a page


def matching(client: Client, action: str, **fields: str) -> Any:
    """Act on all that match, on whatever page."""
    return client.post("/inbox/bulk/", {"all": "1", "action": action, "back": "view=available"} | fields, follow=True)


def test_all_that_match_are_confirmed_by_their_number_and_then_done(cast: Cast, review: str, browser: SignIn) -> None:
    some_tasks(cast, PAGE + 2)
    ada = browser("ada")
    asked = matching(ada, "claim")
    assert (page_name(asked), value("confirm", asked), value("total", asked)) == (
        "bulk_confirm",
        "claim",
        str(PAGE + 2),
    )
    assert Task.objects.filter(assignee__isnull=False).count() == 0, "asking does nothing"
    answer = matching(ada, "claim", sure="1")
    assert all_done("claim", PAGE + 2) in toast("tasks.claim", answer)
    assert Task.objects.filter(assignee=cast.ada).count() == PAGE + 2


def test_rows_chosen_on_several_pages_are_confirmed_too_and_nothing_else_is_done(
    cast: Cast, review: str, browser: SignIn
) -> None:
    tasks, ada = some_tasks(cast, PAGE + 2), browser("ada")
    asked = chosen(ada, "claim", *tasks[: PAGE + 1])
    assert (page_name(asked), value("total", asked)) == ("bulk_confirm", str(PAGE + 1))
    assert 'name="all"' not in asked.content.decode()
    carried = re.findall(r'name="task" value="([^"]+)"', asked.content.decode())
    assert carried == [str(task.pk) for task in tasks[: PAGE + 1]]
    chosen(ada, "claim", *tasks[: PAGE + 1], sure="1")
    assert Task.objects.filter(assignee=cast.ada).count() == PAGE + 1


def test_a_page_at_most_is_not_asked_about(cast: Cast, review: str, browser: SignIn) -> None:
    answer = chosen(browser("ada"), "claim", *some_tasks(cast, 2))
    assert toasts(answer) == ["tasks.claim"]


def test_previous_leads_back_to_where_one_was(cast: Cast, review: str, browser: SignIn) -> None:
    tasks, ada = some_tasks(cast, 2 * PAGE + 1), browser("ada")
    address, seen = "/inbox/?view=available&sort=oldest", []
    for rel in ("next", "next", "prev", "prev"):
        page = ada.get(address).content.decode()
        seen.append(titles(ada, address))
        (link,) = re.findall(rf'rel="{rel}" href="([^"]+)"', page)
        address = "/inbox/" + unescape(link)
    first, second, third, again = seen
    assert [len(one) for one in seen] == [PAGE, PAGE, 1, PAGE]
    assert first + second + third == [task.title for task in tasks]
    assert again == second
    assert titles(ada, address) == first
    assert 'rel="prev"' not in ada.get(address).content.decode()


@pytest.mark.wording
def test_amounts_are_summed_where_every_row_has_one_of_the_same_currency(cast: Cast, browser: SignIn) -> None:
    activated(cast.actor("gwen"), PAID)
    tasks = [only_task(started(cast.actor("uri"), "paid", sum=1000.25 + number)) for number in range(PAGE + 1)]
    ada = browser("ada")
    listed = ada.get("/inbox/?view=available&sort=oldest").content.decode()
    assert values("amount", listed)[:2] == ["1000.25", "1001.25"]
    assert set(values("unit", listed)) == {"€"}
    german = ada.get("/inbox/?view=available&sort=oldest", headers={"accept-language": "de"}).content.decode()
    assert values("amount", german) == values("amount", listed)
    assert "€25,306.25 together" in element("data-sum", matching(ada, "claim"))
    Task.objects.filter(pk=tasks[0].pk).update(columns={"sum": "soon"})
    assert "data-sum" not in matching(ada, "claim").content.decode()


# The page of a result


def test_each_row_that_was_not_done_offers_one_act(cast: Cast, review: str, browser: SignIn) -> None:
    fine, held = some_tasks(cast, 2)
    own = some_own(cast)
    suspend_task(actor=cast.actor("gwen"), task_id=held.pk, reason="wait")
    page = chosen(browser("ada"), "claim", fine, held, own)
    rows = {code: element(f'data-result data-code="{code}"', page) for code in ("status", "four_eyes", "done")}
    assert {code: acts(row) for code, row in rows.items()} == {
        "status": {"again"},
        "four_eyes": {"assign"},
        "done": set(),
    }
    assert "again_all" not in acts(page)


def test_what_may_pass_is_tried_again_together_with_the_same_words(cast: Cast, review: str, browser: SignIn) -> None:
    tasks, gwen = some_tasks(cast, 3), browser("gwen")
    for task in tasks[:2]:
        suspend_task(actor=cast.actor("gwen"), task_id=task.pk, reason="wait")
    page = chosen(gwen, "assign", *tasks, view="team", person="ada")
    assert value("number", page) == "2"
    form = element('method="post" action="/inbox/bulk/"', page)
    fields = re.findall(r'name="(\w+)" value="([^"]*)"', form)
    sent: dict[str, list[str]] = {}
    for name, word in fields:
        sent.setdefault(name, []).append(unescape(word))
    for task in tasks[:2]:
        resume_task(actor=cast.actor("gwen"), task_id=task.pk)
    assert toasts(gwen.post("/inbox/bulk/", sent, follow=True)) == ["tasks.assign"]
    assert {task.assignee_id for task in Task.objects.all()} == {cast.ada.pk}


def test_a_result_is_downloaded_with_its_reasons(cast: Cast, review: str, browser: SignIn) -> None:
    (task,), own, ada = some_tasks(cast, 1), some_own(cast), browser("ada")
    page = chosen(ada, "claim", task, own)
    (address,) = re.findall(r'action="(/inbox/results/[^"]+/csv/)"', page.content.decode())
    file = ada.post(address)
    lines = list(csv.reader(io.StringIO(file.content.decode("utf-8-sig"))))
    reasons = {line[0]: line[3] for line in lines[1:]}
    assert set(reasons) == {task.title, own.title}
    assert [bool(reasons[one.title]) for one in (task, own)] == [False, True]
    assert Audit.objects.filter(action="export_tasks", actor_name="ada").count() == 1
    assert browser("gwen").post(address).status_code == 404
    assert ada.get(address).status_code == 405
