"""Pages of deputies and of handing over: away, for Ada, hand over, waiting, questions."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from engine.models import Notification, Task
from engine.services.people.accounts import create_person
from engine.services.tasks.lifecycle import claim_task
from tests.cast import Cast
from tests.hooks import errors, notices, toasts, value
from tests.services.test_deputies import PERSONAL, away
from tests.services.test_handover import CHECK
from tests.services.test_paused_clock import CHECK as PAUSING
from tests.workflows import activated, only_task, started
from workflowplatform.accounts.models import Absence, Membership, User


@pytest.fixture
def lea(cast: Cast) -> str:
    create_person(actor=None, tenant=cast.acme, name="lea", level=3, roles=("finance", "support"), email="l@a.example")
    return "lea"


ASK = {"choice": "ask", "asked": "uri", "question": "Which one?"}


def browser(name: str) -> Client:
    """Sign a person in."""
    client = Client()
    client.force_login(User.objects.get(username=name))
    return client


def days(first: int, last: int) -> dict[str, str]:
    today = timezone.localdate()
    return {"from": str(today + timedelta(days=first)), "until": str(today + timedelta(days=last))}


def test_person_enters_changes_and_ends_an_absence(cast: Cast, lea: str) -> None:
    ada = browser("ada")
    assert 'data-page="away"' in ada.get("/inbox/away/").content.decode()
    answer = ada.post("/inbox/away/", {**days(2, 4), "deputy": lea, "note": "<b>Tuesdays</b>"}, follow=True)
    made = Absence.objects.get()
    assert f'data-absence="{made.pk}"' in answer.content.decode()
    assert (made.person.username, made.deputy and made.deputy.username, made.note) == ("ada", lea, "<b>Tuesdays</b>")
    assert (made.ends_at - made.starts_at).days == 3
    wrong = ada.post("/inbox/away/", {**days(3, 5), "deputy": "adam"})
    assert (wrong.status_code, notices(wrong)) == (400, ["overlap"])
    assert ada.post(f"/inbox/away/{made.pk}/", {**days(5, 6), "deputy": ""}).status_code == 302
    assert ada.get(f"/inbox/away/{made.pk}/").status_code == 200
    assert browser("uri").post(f"/inbox/away/{made.pk}/end/").status_code == 404
    assert ada.post(f"/inbox/away/{made.pk}/end/").status_code == 302
    assert not Absence.objects.exists()


def test_a_deputy_sees_the_absence_and_is_offered_no_change(cast: Cast, lea: str) -> None:
    made = away(cast.actor("ada"), "ada", lea)
    for name, offered in ((lea, False), ("ada", True), ("gwen", True)):
        page = browser(name).get("/inbox/away/").content.decode()
        assert f'data-absence="{made.pk}"' in page
        assert ('data-act="end_absence"' in page) == offered, name


def test_lists_and_tasks_say_for_whom(cast: Cast, lea: str) -> None:
    activated(cast.actor("gwen"), PERSONAL)
    task = only_task(started(cast.actor("gwen"), "personal"))
    away(cast.actor("ada"), "ada", lea)
    page = browser(lea)
    assert 'data-for="ada"' in page.get("/inbox/").content.decode()
    shown = page.get(f"/inbox/tasks/{task.pk}/").content.decode()
    assert 'data-for="ada"' in shown
    assert 'data-reason data-code="deputy"' in shown
    assert page.post(f"/inbox/tasks/{task.pk}/complete/", {"outcome": "done"}).status_code == 302
    task.refresh_from_db()
    assert (task.completed_by_name, task.completed_for_name) == (lea, "ada")


@pytest.fixture
def task(cast: Cast, lea: str) -> Task:
    activated(cast.actor("gwen"), CHECK)
    return claim_task(actor=cast.actor(lea), task_id=only_task(started(cast.actor("uri"), "check")).pk)


def test_asking_parks_the_task_and_the_answer_frees_it(cast: Cast, lea: str, task: Task) -> None:
    page, address = browser(lea), f"/inbox/tasks/{task.pk}/"
    assert 'data-act="hand_over"' in page.get(address).content.decode()
    page.post(f"{address}hand_over/", {**ASK, "asked": "uri", "question": "Which <b>one</b>?"})
    assert "waiting" in notices(page.get(address))
    assert 'data-waiting="uri"' in page.get("/inbox/").content.decode()
    uri = browser("uri")
    listed = uri.get("/inbox/questions/").content.decode()
    assert 'data-nav="questions"' in listed
    assert "Which &lt;b&gt;one&lt;/b&gt;?" in listed
    question = task.questions.get()
    assert uri.post(f"/inbox/questions/{question.pk}/", {"answer": " "}).status_code == 400
    assert uri.post(f"/inbox/questions/{question.pk}/", {"answer": "The red one"}).status_code == 302
    after = page.get(address)
    assert "waiting" not in notices(after)
    assert "The red one" in after.content.decode()


def test_delegating_and_returning(cast: Cast, lea: str, task: Task) -> None:
    address = f"/inbox/tasks/{task.pk}/"
    assert (
        browser(lea).post(f"{address}hand_over/", {"choice": "delegate", "person": "ada", "note": "look"}).status_code
        == 302
    )
    ada = browser("ada")
    assert "delegated" in notices(ada.get(address))
    assert ada.post(f"{address}return/", {"note": "not mine"}).status_code == 302
    task.refresh_from_db()
    assert (task.status, task.assignee and task.assignee.username, task.delegated_by_name) == ("claimed", lea, "")
    assert browser(lea).post(f"{address}assign/", {"person": "ada"}).status_code == 302


def choices(page: str) -> list[str]:
    return re.findall(r'name="choice" value="(\w+)"', page)


def receivers(page: str) -> dict[str, str]:
    """Give who can be chosen, and how many open tasks each has."""
    return dict(re.findall(r'<option value="(\w+)" data-load="(\d+)"', page))


def test_dialog_offers_only_people_who_may_act_with_their_load(cast: Cast, lea: str, task: Task) -> None:
    shown = browser(lea).get(f"/inbox/tasks/{task.pk}/").content.decode()
    assert choices(shown) == ["assign", "delegate", "ask"]
    assert receivers(shown) == {"ada": "0"}, "not the holder, not who started it, nobody outside the role"
    assert re.findall(r'data-pick-person="(\w*)"', shown) == ["ada", ""], "Uri, who started it, is filled in"
    assert 'data-act="return_to_queue"' in shown
    other = only_task(started(cast.actor("uri"), "check"))
    claim_task(actor=cast.actor("ada"), task_id=other.pk)
    assert receivers(browser(lea).get(f"/inbox/tasks/{task.pk}/").content.decode()) == {"ada": "1"}


def test_dialog_names_the_lead_where_nobody_else_may_act(cast: Cast, lea: str, task: Task) -> None:
    User.objects.filter(username="ada").update(level=2, is_active=False)
    page = browser(lea)
    shown = page.get(f"/inbox/tasks/{task.pk}/").content.decode()
    assert "data-nobody" in shown
    assert receivers(shown) == {}
    assert re.search(r'value="ask" id="choose-ask" checked', shown)
    create_person(actor=None, tenant=cast.acme, name="vera", level=1, roles=("finance",), email="v@a.example")
    Membership.objects.filter(user__username="vera").update(leads=True)
    assert "Vera" in page.get(f"/inbox/tasks/{task.pk}/").content.decode().split("data-nobody")[1][:300]


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"choice": "assign", "person": ""}, "required"),
        ({"choice": "delegate", "note": "look"}, "required"),
        ({**ASK, "asked": ""}, "required"),
        ({**ASK, "asked": "nobody"}, "unknown"),
        ({**ASK, "question": " "}, "required"),
    ],
)
def test_dialog_says_what_is_wrong_and_keeps_what_was_typed(
    lea: str, task: Task, sent: dict[str, str], field: str
) -> None:
    answer = browser(lea).post(f"/inbox/tasks/{task.pk}/hand_over/", sent)
    shown = answer.content.decode()
    assert (answer.status_code, errors(answer)) == (400, [field])
    assert re.search(r"data-hand-over[^>]* open>", shown)
    assert re.search(rf'id="choose-{sent["choice"]}" checked', shown)
    for typed in (sent.get("note"), sent.get("question", "").strip()):
        assert not typed or typed in shown
    assert browser(lea).post(f"/inbox/tasks/{task.pk}/hand_over/", {"choice": "x"}).status_code == 404


def test_person_is_asked_by_name_as_people_write_it(lea: str, task: Task) -> None:
    User.objects.filter(username="uri").update(full_name="Uri Rosen")
    for name in ("Uri Rosen", "uri rosen", "Uri Rosen (@uri)", "@uri", "Uri"):
        browser(lea).post(f"/inbox/tasks/{task.pk}/hand_over/", {**ASK, "asked": name, "instead": "1"})
        task.refresh_from_db()
        assert task.waiting_for_name == "uri", name
        Task.objects.filter(pk=task.pk).update(waiting_for_name="")
    User.objects.filter(username="adam").update(full_name="Uri Rosen")
    answer = browser(lea).post(f"/inbox/tasks/{task.pk}/hand_over/", {**ASK, "asked": "Uri Rosen", "instead": "1"})
    assert errors(answer) == ["unknown"], "two people are called that"


def test_everybody_here_can_be_asked_and_is_completed(cast: Cast, lea: str, task: Task) -> None:
    found = browser(lea).get(f"/inbox/tasks/{task.pk}/people/?ask=1&typed=ad").json()["people"]
    assert [one["name"] for one in found] == ["ada", "adam"]
    assert browser(lea).get(f"/inbox/tasks/{task.pk}/people/?ask=1&typed=sam").json()["people"] == []


def test_waiting_page_has_no_first_answer_and_says_what_one_can_do(lea: str, task: Task) -> None:
    page, address = browser(lea), f"/inbox/tasks/{task.pk}/"
    first = r'wf-button--primary[^>]*name="outcome"'
    assert re.search(first, page.get(address).content.decode())
    page.post(f"{address}hand_over/", ASK)
    shown = page.get(address).content.decode()
    assert not re.search(first, shown)
    for hook in ("data-or-decide", 'data-act="remind_asked"', 'data-act="ask_instead"', 'data-act="unask"'):
        assert hook in shown, hook
    assert re.search(r"data-hand-over[^>]* open>", page.get(f"{address}?hand_over=ask").content.decode())


def test_asked_person_is_reminded_once_a_day(lea: str, task: Task) -> None:
    page, address = browser(lea), f"/inbox/tasks/{task.pk}/"
    assert page.post(f"{address}remind/").status_code == 409
    page.post(f"{address}hand_over/", ASK)
    assert toasts(page.post(f"{address}remind/", follow=True)) == ["task.reminded"]
    assert notices(page.post(f"{address}remind/")) == ["waiting", "reminded"]
    assert "data-reminded" in page.get(address).content.decode()
    task.questions.update(reminded_at=timezone.now() - timedelta(hours=25))
    assert page.post(f"{address}remind/").status_code == 302
    assert Notification.objects.filter(kind="asked").count() >= 1


def test_somebody_else_is_asked_instead(cast: Cast, lea: str, task: Task) -> None:
    page, address = browser(lea), f"/inbox/tasks/{task.pk}/"
    page.post(f"{address}hand_over/", ASK)
    assert page.post(f"{address}hand_over/", {**ASK, "asked": "adam"}).status_code == 409
    assert page.post(f"{address}hand_over/", {**ASK, "asked": "adam", "instead": "1"}).status_code == 302
    assert list(task.questions.filter(ended_at__isnull=True).values_list("asked_of_name", flat=True)) == ["adam"]


@pytest.mark.parametrize(("ask", "clock"), [("{pause: true, at_most: P2D}", "paused"), ("{pause: false}", "runs")])
def test_page_says_whether_the_clock_stands_still(cast: Cast, lea: str, ask: str, clock: str) -> None:
    activated(cast.actor("gwen"), PAUSING.format(ask=ask))
    task = claim_task(actor=cast.actor(lea), task_id=only_task(started(cast.actor("uri"), "check")).pk)
    page, address = browser(lea), f"/inbox/tasks/{task.pk}/"
    assert ("data-pauses" in page.get(address).content.decode()) == (clock == "paused")
    page.post(f"{address}hand_over/", ASK)
    assert value("clock", page.get(address)) == clock
    assert 'data-waiting="uri"' in page.get("/inbox/").content.decode()
    assert browser("gwen").get(f"/admin/engine/task/{task.pk}/change/").status_code == 200
    assert ("data-paused" in browser("gwen").get(f"/admin/engine/task/{task.pk}/change/").content.decode()) == (
        clock == "paused"
    )
