"""One search over tasks, cases, comments and people: what is found is what one may see."""

from engine.services.instances.requests import comment_instance
from engine.services.search import search_everything
from engine.services.tasks.comments import comment_task
from tests.cast import Cast
from tests.workflows import activated, only_task, started
from workflowplatform.accounts.models import User

DESK = """
workflow: desk
title: Desk
starters: {min_level: 2}
input: {type: object, properties: {what: {type: string}, supplier: {type: string}}}
case_title: "${start.what}"
steps:
  - task: {title: "Approve ${start.what}", roles: [finance], columns: {price: "€1,240.00"}}
"""


def counts(cast: Cast, name: str, text: str) -> tuple[int, int, int, int]:
    found = search_everything(actor=cast.actor(name), text=text)
    return len(found.tasks), len(found.cases), len(found.comments), len(found.people)


def test_each_finds_what_they_may_see_and_nobody_another_tenants(cast: Cast) -> None:
    activated(cast.actor("gwen"), DESK)
    case = started(cast.actor("uri"), "desk", what="oak desk", supplier="Nordwind")
    comment_instance(actor=cast.actor("uri"), instance_id=case.pk, text="the oak one")
    comment_task(actor=cast.actor("ada"), task_id=only_task(case).pk, text="oak is dear")
    User.objects.filter(username="adam").update(full_name="Adam Oakley")
    assert counts(cast, "ada", "oak") == (1, 1, 2, 1)
    assert counts(cast, "uri", "oak") == (0, 1, 1, 0)
    assert counts(cast, "sam", "oak") == (0, 0, 0, 0)


def test_each_word_must_be_there_and_marks_narrow(cast: Cast) -> None:
    activated(cast.actor("gwen"), DESK)
    started(cast.actor("uri"), "desk", what="oak desk", supplier="Nordwind")
    assert counts(cast, "ada", "desk oak") == (1, 1, 0, 0)
    assert counts(cast, "ada", "desk pine") == (0, 0, 0, 0)
    assert counts(cast, "ada", "#oak") == (0, 1, 0, 0)
    assert counts(cast, "ada", "@adam") == (0, 0, 0, 1)
    assert counts(cast, "ada", "1240") == (1, 0, 0, 0)
    assert counts(cast, "uri", "nordwind") == (0, 1, 0, 0)
    assert counts(cast, "ada", " ") == (0, 0, 0, 0)


def test_a_task_is_found_by_its_words_not_by_their_letters(cast: Cast) -> None:
    activated(cast.actor("gwen"), DESK)
    started(cast.actor("uri"), "desk", what="oak desk", supplier="Nordwind")
    assert counts(cast, "ada", "kao skde") == (0, 0, 0, 0)
