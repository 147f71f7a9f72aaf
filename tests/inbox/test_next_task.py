"""After an answer the next task of the same list opens."""

from django.test import Client

from engine.models import Instance, Task
from engine.services.tasks.lifecycle import claim_task
from tests.cast import Cast
from tests.hooks import part
from tests.inbox.conftest import SignIn
from tests.workflows import activated, started

PILE = """
workflow: pile
title: Pile
starters: {min_level: 2}
input: {type: object, properties: {n: {type: integer}}}
steps:
  - id: look
    task:
      title: "Look at ${start.n}"
      assignee: ada
      comment: never
      outcomes: {ok: {title: Fine}, bad: {title: Bad, reject: true}}
"""


def pile(cast: Cast, size: int) -> list[Task]:
    """Give Ada some tasks of her own, in the order of her list."""
    activated(cast.actor("gwen"), PILE)
    cases = [started(cast.actor("uri"), "pile", n=number) for number in range(size)]
    for case in cases:
        claim_task(actor=cast.actor("ada"), task_id=Task.objects.get(instance=case).pk)
    return list(Task.objects.filter(instance__in=Instance.objects.filter(template__name="pile")).order_by("id"))


def answer(ada: Client, task: Task, query: str = "") -> str:
    """Answer a task; return where the person ends up."""
    sent = ada.post(f"/inbox/tasks/{task.pk}/complete/{query}", {"outcome": "ok"})
    assert sent["Location"] == f"/inbox/tasks/{task.pk}/following/{query}"
    return str(ada.get(sent["Location"])["Location"])


def test_the_next_task_of_the_same_list_opens_on_its_heading(cast: Cast, browser: SignIn) -> None:
    first, second, third = pile(cast, 3)
    ada = browser("ada")
    assert answer(ada, first, "?in=view%3Dmine") == f"/inbox/tasks/{second.pk}/?in=view%3Dmine#title"
    assert answer(ada, second, "?in=view%3Dmine") == f"/inbox/tasks/{third.pk}/?in=view%3Dmine#title"
    assert answer(ada, third, "?in=view%3Dmine") == "/inbox/?view=mine"


def test_the_order_and_the_filters_of_the_list_are_kept(cast: Cast, browser: SignIn) -> None:
    first, second, third = pile(cast, 3)
    ada = browser("ada")
    newest = "?in=view%3Dmine%26sort%3Dnewest"
    assert answer(ada, third, newest).startswith(f"/inbox/tasks/{second.pk}/")
    assert answer(ada, second, "?in=view%3Dmine%26q%3Dnothing") == "/inbox/?view=mine&q=nothing"
    assert answer(ada, first, newest) == "/inbox/?view=mine&sort=newest"


def test_the_page_names_what_comes_next_and_carries_the_list_along(cast: Cast, browser: SignIn) -> None:
    first, second, third = pile(cast, 3)
    page = browser("ada").get(f"/inbox/tasks/{first.pk}/?in=view%3Dmine").content.decode()
    assert 'rel="next"' in page
    assert 'rel="prev"' not in page
    assert [title in part("following", page) for title in (second.title, third.title)] == [True, True]
    assert f'action="/inbox/tasks/{first.pk}/complete/?in=view%3Dmine"' in page


def test_a_task_that_its_reader_no_longer_sees_leads_to_the_list(cast: Cast, browser: SignIn) -> None:
    first, *_ = pile(cast, 1)
    moved = browser("uri").get(f"/inbox/tasks/{first.pk}/following/?in=view%3Dmine%26sort%3Dnewest")
    assert moved["Location"] == "/inbox/?view=mine&sort=newest"
