"""Mentions in comments: people who may see the task are told, others are not, and links are safe."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils.html import escape

from engine.models import Notification, Task
from engine.services.notifications.mentions import mentions_in, names_in
from engine.services.people.accounts import create_person, grant_role
from engine.services.tasks.comments import comment_task
from tasks_inbox.templatetags.said import linked
from tests.cast import Cast
from tests.hooks import toasts, values
from tests.inbox.conftest import SignIn
from tests.workflows import only_task, started


def a_task(cast: Cast) -> Task:
    return only_task(started(cast.actor("uri"), "review", what="lunch", amount=12.5))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Ask @adam.", ["adam"]),
        ("@Adam, @gwen and @adam", ["adam", "gwen"]),
        ("write to ada@acme.example", []),
        ("https://example.com/@adam", []),
        ("@", []),
    ],
)
def test_names_are_found_behind_an_at_sign(text: str, names: list[str]) -> None:
    assert names_in(text) == names


def test_who_is_mentioned_is_told_and_the_author_is_not(cast: Cast, review: str) -> None:
    task = a_task(cast)
    comment_task(actor=cast.actor("ada"), task_id=task.pk, text="@adam, @ada: look at https://example.com")
    (row,) = Notification.objects.all()
    assert (row.person_id, row.kind, row.actor_name, row.task_id) == (cast.adam.pk, "mentioned", "ada", task.pk)


def test_who_may_not_see_the_case_is_not_mentioned_and_looks_like_nobody(cast: Cast, review: str) -> None:
    task = a_task(cast)
    create_person(actor=None, tenant=cast.acme, name="lena", level=2, email="lena@acme.example")
    found = mentions_in(task, "@lena @stan @nobody @uri")
    assert [person.username for person in found.people] == ["uri"]
    assert found.unknown == ("lena", "stan", "nobody")
    comment_task(actor=cast.actor("ada"), task_id=task.pk, text="@lena @stan @nobody")
    assert not Notification.objects.exists()


def test_level_three_with_the_role_can_be_mentioned_until_the_task_is_over(cast: Cast, review: str) -> None:
    task = a_task(cast)
    lena = create_person(actor=None, tenant=cast.acme, name="lena", level=3, email="lena@acme.example")
    Task.objects.filter(pk=task.pk).update(min_level=3)
    task.refresh_from_db()
    assert mentions_in(task, "@lena").people == ()
    grant_role(actor=cast.actor("gwen"), person=lena, role="finance")
    assert mentions_in(task, "@lena").people == (lena,)


def test_completion_offers_people_who_may_see_the_task(cast: Cast, review: str, browser: SignIn) -> None:
    task = a_task(cast)
    found = browser("ada").get(f"/inbox/tasks/{task.pk}/people/", {"typed": "a"}).json()["people"]
    assert [one["name"] for one in found] == ["adam"]
    everybody = browser("ada").get(f"/inbox/tasks/{task.pk}/people/").json()["people"]
    assert {one["name"] for one in everybody} == {"adam", "gwen", "uri"}


def test_page_marks_mentions_and_says_who_is_told(cast: Cast, review: str, browser: SignIn) -> None:
    task, client = a_task(cast), browser("ada")
    page = client.post(f"/inbox/tasks/{task.pk}/comment/", {"text": "@adam and @nobody"}, follow=True)
    assert toasts(page) == ["task.commented"]
    assert values("mentioned", page) == ["adam"]


LINKS: list[tuple[str, str | None]] = [
    ("see https://example.com/a?b=1&c=2.", "https://example.com/a?b=1&amp;c=2"),
    ("javascript:alert(1)", None),
    ("data:text/html,<script>alert(1)</script>", None),
    ('https://example.com/"onmouseover="alert(1)', "https://example.com/"),
    ("http://x/<script>alert(1)</script>", "http://x/"),
]


@pytest.mark.parametrize(("text", "address"), LINKS)
def test_only_web_addresses_become_links_and_nothing_becomes_markup(text: str, address: str | None) -> None:
    html = linked(text)
    assert "<script" not in html
    assert ("<a " in html) is (address is not None)
    if address:
        assert f'href="{address}"' in html
        assert "noopener" in html
    else:
        assert html == escape(text)


def test_two_mentions_of_one_person_in_one_comment_are_one_message(cast: Cast, review: str, settings: Any) -> None:
    comment_task(actor=cast.actor("ada"), task_id=a_task(cast).pk, text="@adam @ADAM @adam")
    assert Notification.objects.count() == 1


def test_names_that_are_mail_addresses_are_mentioned_whole(cast: Cast, review: str, browser: SignIn) -> None:
    lena = create_person(actor=None, tenant=cast.acme, name="adam@acme.example", level=4, email="lena@acme.example")
    task = a_task(cast)
    found = mentions_in(task, "Please look, @adam@acme.example. Mail uri@acme.example, (@adam).")
    assert {person.username for person in found.people} == {lena.username, "adam"}
    assert found.unknown == ()
    offered = browser("ada").get(f"/inbox/tasks/{task.pk}/people/", {"typed": "adam@ac"}).json()["people"]
    assert [one["name"] for one in offered] == [lena.username]
    assert 'data-mentioned="adam@acme.example"' in linked("@adam@acme.example!", [lena.username])
