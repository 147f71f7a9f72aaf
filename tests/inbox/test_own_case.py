"""The page of a request of one's own: until when to expect what, and what may be done with it."""

from datetime import timedelta

import pytest
from django.utils import timezone

from engine.models import Instance, Task
from engine.services.insights.durations import FEWEST_CASES, usual_times_of
from engine.services.instances.lifecycle import cancel_instance
from engine.services.instances.requests import withdraw_instance
from engine.services.tasks.lifecycle import claim_task, complete_task
from tests.cast import Cast
from tests.hooks import acts, element, part, values
from tests.inbox.conftest import SignIn
from tests.workflows import activated, only_task, started

TEA = """
workflow: tea
title: Tea
starters: {min_level: 2}
input: {type: object, properties: {what: {type: string}}}
steps:
  - id: taste
    task:
      title: "Taste ${start.what}"
      roles: [finance]
      comment: never
      outcomes: {approve: {title: Approve}, reject: {title: Reject, reject: true}}
  - id: pour
    task: {title: "Pour ${start.what}", roles: [finance], comment: never}
"""


def address(case: Instance) -> str:
    return f"/inbox/instances/{case.pk}/"


@pytest.fixture
def tea(cast: Cast) -> None:
    activated(cast.actor("gwen"), TEA)


def drunk(cast: Cast, number: int, took: timedelta) -> None:
    """Let some cases end, each step of which took so long."""
    for _each in range(number):
        case = started(cast.actor("uri"), "tea", what="green")
        for _step in range(2):
            complete_task(actor=cast.actor("ada"), task_id=only_task(case).pk, outcome=_first_outcome(case))
    now = timezone.now()
    Task.objects.filter(status="completed").update(created_at=now - took, claimed_at=now - took, completed_at=now)
    Instance.objects.filter(status="completed").update(started_at=now - 2 * took, ended_at=now)


def _first_outcome(case: Instance) -> str:
    return str(only_task(case).outcomes[0]["name"])


@pytest.mark.usefixtures("tea")
def test_too_few_cases_say_nothing_of_times(cast: Cast, browser: SignIn) -> None:
    drunk(cast, FEWEST_CASES - 1, timedelta(hours=4))
    case = started(cast.actor("uri"), "tea", what="black")
    page = browser("uri").get(address(case)).content.decode()
    assert "data-expected" not in page
    assert "data-usual" not in part("summary", page)


@pytest.mark.wording
@pytest.mark.usefixtures("tea")
def test_usual_times_give_the_expected_answer_and_end(cast: Cast, browser: SignIn) -> None:
    drunk(cast, FEWEST_CASES, timedelta(hours=100))
    case = started(cast.actor("uri"), "tea", what="black")
    times = usual_times_of(actor=cast.actor("uri"), template_id=case.template_id, now=timezone.now())
    assert times.steps == {"taste": timedelta(hours=100), "pour": timedelta(hours=100)}
    assert times.whole == timedelta(hours=200)
    said = part("summary", browser("uri").get(address(case)))
    expected = element("data-expected", said)
    assert "Finance usually takes 4 d 4 h." in expected
    assert "usually done after 8 d 8 h" in expected
    assert values("usual", said) == ["taste", "pour"]
    Task.objects.filter(instance=case).update(created_at=timezone.now() - timedelta(hours=101))
    Instance.objects.filter(pk=case.pk).update(started_at=timezone.now() - timedelta(hours=201))
    expected = element("data-expected", browser("uri").get(address(case)))
    assert ">Finance usually takes 4 d 4 h; this time it takes longer.<" in expected


@pytest.mark.usefixtures("tea")
def test_usual_times_are_rounded_to_what_people_say(cast: Cast) -> None:
    drunk(cast, FEWEST_CASES, timedelta(hours=4, minutes=58))
    template_id = Instance.objects.values_list("template_id", flat=True)[0]
    times = usual_times_of(actor=cast.actor("uri"), template_id=template_id, now=timezone.now())
    assert times.steps["taste"] == timedelta(hours=5)
    assert times.whole == timedelta(hours=10)


@pytest.mark.usefixtures("tea")
def test_times_older_than_ninety_days_do_not_count(cast: Cast, browser: SignIn) -> None:
    drunk(cast, FEWEST_CASES, timedelta(hours=1))
    long_ago = timezone.now() - timedelta(days=91)
    Task.objects.filter(status="completed").update(completed_at=long_ago)
    Instance.objects.filter(status="completed").update(ended_at=long_ago)
    case = started(cast.actor("uri"), "tea", what="black")
    assert "data-expected" not in browser("uri").get(address(case)).content.decode()


@pytest.mark.wording
@pytest.mark.usefixtures("tea")
def test_work_that_is_no_decision_is_named(cast: Cast, browser: SignIn) -> None:
    case = started(cast.actor("uri"), "tea", what="black")
    complete_task(actor=cast.actor("ada"), task_id=only_task(case).pk, outcome="approve")
    claim_task(actor=cast.actor("ada"), task_id=only_task(case).pk)
    assert "Ada in Finance is working on “Pour black”, since today" in part(
        "summary", browser("uri").get(address(case))
    )


@pytest.mark.usefixtures("tea")
def test_the_answer_that_ended_withdrawing_is_named(cast: Cast, browser: SignIn) -> None:
    case = started(cast.actor("uri"), "tea", what="black")
    assert "withdraw" in acts(browser("uri").get(address(case)))
    complete_task(actor=cast.actor("ada"), task_id=only_task(case).pk, outcome="approve")
    page = browser("uri").get(address(case))
    assert "withdraw" not in acts(page)
    why = element("data-no-withdraw", page)
    assert "Ada" in why
    assert "Taste black" in why


@pytest.mark.wording
@pytest.mark.usefixtures("tea")
def test_withdrawn_is_said_where_the_starter_did_it_and_only_there(cast: Cast, browser: SignIn) -> None:
    own, others = (started(cast.actor("uri"), "tea", what=what) for what in ("black", "white"))
    withdraw_instance(actor=cast.actor("uri"), instance_id=own.pk, reason="coffee")
    cancel_instance(actor=cast.actor("gwen"), instance_id=others.pk, reason="no water")
    uri = browser("uri")
    tag = '<span class="wf-tag" data-status="cancelled">{}</span>'
    for case, word in ((own, "Withdrawn"), (others, "Cancelled")):
        page = uri.get(address(case)).content.decode()
        assert tag.format(word) in page
        assert f">{word} today" in part("summary", page)
        assert f"<b>{word}</b>" in part("summary", page)
    listed = uri.get("/inbox/started/").content.decode()
    assert [listed.count(tag.format(word)) for word in ("Withdrawn", "Cancelled")] == [1, 1]


@pytest.mark.usefixtures("tea")
def test_phones_have_start_again_print_and_withdraw_in_one_menu(cast: Cast, browser: SignIn) -> None:
    case = started(cast.actor("uri"), "tea", what="black")
    page = browser("uri").get(address(case))
    assert {"start_again", "print_case"} <= acts(part("phone_acts", page))
    assert 'id="withdraw-reason-phone"' in page.content.decode()
    withdraw_instance(actor=cast.actor("uri"), instance_id=case.pk, reason="coffee")
    assert "withdraw-reason" not in browser("uri").get(address(case)).content.decode()
