"""Many tasks of one kind, answered by one act; and what was released or given away together, given back."""

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from engine.models import Task, TaskComment, TaskDraft
from engine.services.tasks.drafts import save_task_draft
from engine.services.tasks.lifecycle import claim_task
from tests.cast import Cast
from tests.hooks import acts, codes, errors, toast, toasts, value
from tests.inbox.conftest import SignIn
from tests.inbox.test_lists import some_tasks, titles
from tests.inbox.test_many import all_done, chosen
from tests.workflows import activated, only_task, started

SIGN = """
workflow: sign
title: Signature
starters: {min_level: 2}
input: {type: object, properties: {what: {type: string}, pages: {type: integer}}}
reference: {key: "${'SIG-' + start.what}"}
steps:
  - id: sign
    task:
      title: "Sign ${start.what}"
      roles: [finance]
      not_same_as: [start]
      outcomes: {sign: {title: Sign}, refuse: {title: Refuse, reject: true}}
      comment: on_reject
      payload: {pages: "${has(start.pages) ? start.pages : null}"}
      form: {type: object, required: [pages], properties: {pages: {type: integer, title: Pages}}}
"""


@pytest.fixture
def sign(cast: Cast) -> str:
    """Activate the workflow whose form mostly brings all that it asks for."""
    return activated(cast.actor("gwen"), SIGN).template.name


def papers(cast: Cast, *names: str, by: str = "uri", pages: int = 2) -> list[Task]:
    return [only_task(started(cast.actor(by), "sign", what=name, pages=pages)) for name in names]


def ask(client: Client, *tasks: Task) -> Any:
    return client.post("/inbox/together/", {"task": [str(task.pk) for task in tasks], "back": "view=available"})


def statuses(*tasks: Task) -> list[str]:
    now = Task.objects.in_bulk([task.pk for task in tasks])
    return [now[task.pk].status for task in tasks]


def test_tasks_of_one_step_are_answered_by_one_press(cast: Cast, sign: str, browser: SignIn) -> None:
    tasks, ada = papers(cast, "deed", "will"), browser("ada")
    assert "together" in acts(ada.get("/inbox/?view=available"))
    html = ask(ada, *tasks).content.decode()
    assert (value("ready", html), value("left", html)) == ("2", "0")
    assert "Sign (2)" in html
    assert statuses(*tasks) == ["open", "open"], "looking does nothing"
    answer = chosen(ada, "complete", *tasks, outcome="sign", comment="Both read.")
    assert all_done("complete", 2) in toast("tasks.complete", answer)
    assert "undo" not in acts(answer)
    done = Task.objects.filter(pk__in=[task.pk for task in tasks])
    assert {(task.outcome, task.answer["pages"], task.comment) for task in done} == {("sign", 2, "Both read.")}
    assert TaskComment.objects.count() == 0
    again = chosen(ada, "complete", *tasks, outcome="refuse", comment="No.").content.decode()
    assert (value("done", again), value("left", again)) == ("0", "2")
    assert codes("result", again) == ["answered", "answered"]


def test_each_keeps_its_own_rules(cast: Cast, sign: str, browser: SignIn) -> None:
    fine, begun, taken = papers(cast, "fine", "begun", "taken")
    own = papers(cast, "own", by="ada")[0]
    bare = only_task(started(cast.actor("uri"), "sign", what="bare"))
    save_task_draft(actor=cast.actor("ada"), task_id=begun.pk, values={"pages": 9})
    Task.objects.filter(pk=taken.pk).update(status="claimed", assignee=cast.gwen)
    ada, all_of_them = browser("ada"), (fine, begun, taken, own, bare)
    before = ask(ada, *all_of_them).content.decode()
    assert (value("ready", before), value("left", before)) == ("1", "4")
    html = chosen(ada, "complete", *all_of_them, outcome="sign").content.decode()
    left = ["draft", "claimed", "four_eyes", "own_answer"]
    assert codes("result", before) == left
    assert codes("result", html) == [*left, "done"]
    assert (value("done", html), value("left", html)) == ("1", "4")
    assert statuses(*all_of_them) == ["completed", "open", "claimed", "open", "open"]
    assert TaskDraft.objects.get().values == {"pages": 9}


def test_steps_of_several_kinds_have_no_common_answer(cast: Cast, sign: str, review: str, browser: SignIn) -> None:
    paper, ada = papers(cast, "deed")[0], browser("ada")
    other = some_tasks(cast, 1)[0]
    assert toasts(chosen(ada, "complete", paper, other, outcome="sign")) == ["mixed"]
    sent = {"task": [str(paper.pk), str(other.pk)], "back": "view=available"}
    assert toasts(ada.post("/inbox/together/", sent, follow=True)) == ["mixed"]
    assert statuses(paper, other) == ["open", "open"]
    assert codes("result", ask(ada, other)) == ["own_answer"]


def test_a_missing_comment_is_asked_for_with_everything_typed(cast: Cast, sign: str, browser: SignIn) -> None:
    tasks, ada = papers(cast, "deed", "will"), browser("ada")
    answer = chosen(ada, "complete", *tasks, outcome="refuse", comment=" ")
    assert answer.status_code == 400
    assert errors(answer) == ["comment_required"]
    assert str(tasks[1].pk) in answer.content.decode()
    told = chosen(ada, "complete", *tasks, outcome="refuse", comment="Torn.")
    assert all_done("complete", 2) in toast("tasks.complete", told)
    assert statuses(*tasks) == ["completed", "completed"]


def test_nonsense_and_strangers_get_nowhere(cast: Cast, sign: str, browser: SignIn) -> None:
    paper = papers(cast, "deed")[0]
    for name in ("sam", "uri"):
        stranger = browser(name)
        assert "Sign deed" not in ask(stranger, paper).content.decode()
        told = chosen(stranger, "complete", paper, outcome="sign")
        assert (value("done", told), value("left", told)) == ("0", "1")
    ada = browser("ada")
    assert codes("result", chosen(ada, "complete", paper, outcome="burn")) == ["invalid"]
    assert (value("ready", ask(ada)), value("left", ask(ada))) == ("0", "0")
    assert ada.get("/inbox/together/").status_code == 405
    assert Client().post("/inbox/together/", {"task": str(paper.pk)})["Location"].startswith("/accounts/login/")
    assert statuses(paper) == ["open"]


def undone(client: Client, html: str) -> Any:
    found = re.search(r'action="(/inbox/bulk/\?[^"]+)"', html)
    assert found
    return client.post(unescape(found[1]), follow=True)


def test_what_was_released_together_returns_to_who_held_it(cast: Cast, review: str, browser: SignIn) -> None:
    tasks, ada = some_tasks(cast, 2), browser("ada")
    for task in tasks:
        claim_task(actor=cast.actor("ada"), task_id=task.pk)
    gone = chosen(ada, "release", *tasks, view="mine").content.decode()
    assert all_done("give_back", 2) in toast("tasks.give_back", undone(ada, gone))
    assert statuses(*tasks) == ["claimed", "claimed"]
    gone = chosen(browser("gwen"), "release", *tasks, view="team").content.decode()
    undone(browser("gwen"), gone)
    held = Task.objects.filter(assignee=cast.ada).values_list("status", flat=True)
    assert list(held) == ["open", "open"], "Ada has them again, and claims them by opening"


def test_what_was_given_away_together_goes_back_where_it_was(cast: Cast, review: str, browser: SignIn) -> None:
    free, held = some_tasks(cast, 2)
    claim_task(actor=cast.actor("ada"), task_id=held.pk)
    gwen = browser("gwen")
    given = chosen(gwen, "assign", free, held, view="team", person="ada").content.decode()
    undone(gwen, given)
    now = Task.objects.in_bulk([free.pk, held.pk])
    assert now[free.pk].assignee_id is None
    assert now[held.pk].assignee_id == cast.ada.pk
    assert titles(browser("ada"), "/inbox/") == [held.title]
