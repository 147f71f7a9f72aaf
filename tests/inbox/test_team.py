"""The page of a team: who has how much, and moving tasks from one person to another."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from engine.models import Audit, Task
from engine.services.people.absences import enter_absence
from engine.services.tasks.lifecycle import claim_task
from tests.cast import Cast
from tests.inbox.conftest import SignIn
from tests.services.test_leads import DESK, lead, person
from tests.workflows import activated, started
from workflowplatform.accounts.models import User

SignedIn = Callable[[str], Client]


@pytest.fixture
def pays(cast: Cast) -> list[Task]:
    """Return three tasks of Finance, one asked for by Mira; Mira has all of them that she may have. Lena leads."""
    activated(cast.actor("gwen"), DESK)
    person(cast, "lena")
    person(cast, "mira")
    lead(cast, "lena")
    cases = [started(cast.actor(name), "desk") for name in ("uri", "uri", "mira")]
    tasks = [Task.objects.get(instance=case, step="pay") for case in cases]
    for task in tasks[:2]:
        claim_task(actor=cast.actor("mira"), task_id=task.pk)
    return tasks


def signed_in(name: str) -> Client:
    client = Client()
    client.force_login(User.objects.get(username=name))
    return client


def figures(page: str, name: str) -> dict[str, str]:
    row = page.split(f'data-person="{name}"')[1].split("</tr>")[0]
    return dict(re.findall(r'data-figure="(\w+)" data-value="(\d+)"', row))


def move(client: Client, tasks: list[Task], **words: str) -> tuple[int, str, str]:
    sent = {"task": [str(task.pk) for task in tasks], "back": "view=load&person=mira", **words}
    answer = client.post("/inbox/bulk/", sent)
    return answer.status_code, answer.headers.get("Location", ""), answer.content.decode()


def holder(task: Task) -> str | None:
    found = Task.objects.select_related("assignee").get(pk=task.pk).assignee
    return found.username if found else None


def test_the_page_is_for_leads_and_level_4(cast: Cast, browser: SignIn, pays: list[Task]) -> None:
    assert browser("uri").get("/inbox/team/").status_code == 403
    assert signed_in("mira").get("/inbox/team/").status_code == 403
    assert 'data-nav="load"' not in signed_in("mira").get("/inbox/").content.decode()
    for name in ("lena", "ada"):
        page = signed_in(name).get("/inbox/team/").content.decode()
        assert 'data-page="team"' in page
        assert 'data-nav="load"' in page


def test_each_person_is_a_row_with_figures_and_opens_to_their_tasks(cast: Cast, pays: list[Task]) -> None:
    Task.objects.filter(pk=pays[0].pk).update(due_at=timezone.now() - timedelta(hours=1))
    page = signed_in("lena").get("/inbox/team/").content.decode()
    assert figures(page, "mira") == {"open": "2", "late": "1", "done": "0"}
    assert 'data-person="gwen"' not in page
    assert 'id="tasks"' not in page
    opened = signed_in("lena").get("/inbox/team/?person=mira").content.decode()
    assert set(re.findall(r'data-task="([\w-]+)"', opened)) == {str(task.pk) for task in pays[:2]}
    assert 'value="lena"' in opened
    assert '<option value="mira"' not in opened


def test_a_queue_opens_to_what_waits_there(cast: Cast, pays: list[Task]) -> None:
    page = signed_in("lena").get("/inbox/team/?queue=finance").content.decode()
    assert re.findall(r'data-task="([\w-]+)"', page) == [str(pays[2].pk)]
    assert 'data-act="to_queue"' not in page
    assert 'id="tasks"' not in signed_in("lena").get("/inbox/team/?queue=support").content.decode()


def test_selected_tasks_move_to_the_chosen_person_who_is_told_and_undo_returns_them(
    cast: Cast, pays: list[Task]
) -> None:
    client = signed_in("lena")
    status, location, _page = move(client, pays[:2], action="assign", person="lena", reason="Mira has enough.")
    assert (status, location) == (302, "/inbox/team/?view=load&person=mira")
    assert [holder(task) for task in pays[:2]] == ["lena", "lena"]
    page = client.get(location).content.decode()
    assert 'data-code="tasks.assign"' in page
    undo = re.search(r'action="(/inbox/bulk/\?[^"]*give_back[^"]*)"', page)
    assert undo
    client.post(undo[1].replace("&amp;", "&"))
    assert [holder(task) for task in pays[:2]] == ["mira", "mira"]


def test_a_task_that_the_receiver_may_not_do_stays_with_its_reason_and_the_others_can_be_undone(
    cast: Cast, pays: list[Task]
) -> None:
    claim_task(actor=cast.actor("lena"), task_id=pays[2].pk)
    client = signed_in("lena")
    status, _location, page = move(client, [pays[2]], action="release")
    assert status == 302
    status, _location, page = move(client, [*pays[:2], pays[2]], action="assign", person="ada")
    assert status == 302
    status, location, _page = move(client, pays, action="assign", person="mira")
    assert status == 302
    page = client.get(location).content.decode()
    assert re.findall(r'data-result data-code="(\w+)"', page) == ["four_eyes", "done", "done"]
    assert "Mira" in page
    assert [holder(task) for task in pays] == ["mira", "mira", "ada"]
    undo = re.search(r'action="(/inbox/bulk/\?[^"]*give_back[^"]*)"', page)
    assert undo
    asked = parse_qs(urlsplit(undo[1].replace("&amp;", "&")).query)
    assert {UUID(one) for one in asked["task"]} == {task.pk for task in pays[:2]}


def test_a_lead_cannot_move_what_is_not_their_teams(cast: Cast, pays: list[Task]) -> None:
    other = Task.objects.filter(step="help").first()
    assert other is not None
    status, _location, page = move(signed_in("lena"), [other], action="assign", person="lena")
    assert status == 200
    assert 'data-code="not_found"' in page
    assert holder(other) is None


def test_who_is_away_is_marked_with_the_deputy(cast: Cast, pays: list[Task]) -> None:
    now = timezone.now()
    enter_absence(
        actor=cast.actor("mira"), person="mira", deputy="lena",
        starts_at=now - timedelta(minutes=1), ends_at=now + timedelta(days=2),
    )  # fmt: skip
    page = signed_in("lena").get("/inbox/team/").content.decode()
    row = page.split('data-person="mira"')[1].split("</tr>")[0]
    assert "data-away" in row
    assert "Lena" in row


def test_charts_are_tables_too_and_nothing_is_inline(cast: Cast, pays: list[Task]) -> None:
    page = signed_in("ada").get("/inbox/team/").content.decode()
    assert page.count("data-chart-table") == 1
    body = page.split("<main")[1].split("</main>")[0]
    assert "style=" not in body
    assert "<script" not in body


def test_an_empty_team_and_wrong_words_in_the_address_say_so_or_are_ignored(cast: Cast, browser: SignIn) -> None:
    client = browser("gwen")
    assert 'data-empty="team"' in browser("sam").get("/inbox/team/?role=hr").content.decode()
    page = client.get("/inbox/team/?role=nobody&person=sam&queue=none&all=1").content.decode()
    assert 'data-page="team"' in page
    assert 'id="tasks"' not in page


def test_the_page_takes_the_same_queries_for_few_and_for_many(cast: Cast, pays: list[Task]) -> None:
    client = signed_in("lena")

    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            assert client.get("/inbox/team/?person=mira").status_code == 200
        return len(asked)

    queries()
    few = queries()
    for number in range(3):
        person(cast, f"clerk{number}")
        claim_task(
            actor=cast.actor("mira"),
            task_id=Task.objects.get(instance=started(cast.actor("uri"), "desk"), step="pay").pk,
        )
    assert queries() == few
    assert few <= 24, few


def test_a_lead_opens_a_task_of_their_team_reads_why_and_can_move_it_there(cast: Cast, pays: list[Task]) -> None:
    page = signed_in("lena").get(f"/inbox/tasks/{pays[0].pk}/").content.decode()
    assert 'data-reason data-code="seen" data-ok="yes"' in page
    assert 'data-act="hand_over"' in page
    assert 'id="answer"' not in page


def test_limit_is_the_sum_of_what_authors_allow(cast: Cast, pays: list[Task]) -> None:
    """It is shown only where every task of the team has one."""
    assert "data-limit" not in signed_in("lena").get("/inbox/team/").content.decode()
    activated(cast.actor("gwen"), DESK.replace("roles: [finance]", "roles: [finance], wip_limit: 3"))
    page = signed_in("lena").get("/inbox/team/").content.decode()
    assert 'data-limit="6"' in page
    assert page.count("wf-bars__limit") == page.count("data-person=")


def test_load_is_handed_out_as_a_file(cast: Cast, pays: list[Task]) -> None:
    assert signed_in("mira").post("/inbox/team/export/").status_code == 403
    answer = signed_in("lena").post("/inbox/team/export/", {"role": "finance"})
    assert answer.headers["Content-Type"].startswith("text/csv")
    rows = [line.split(",") for line in answer.content.decode().splitlines()]
    assert [row[:3] for row in rows if row[0] == "Mira"] == [["Mira", "2", "0"]]
    assert Audit.objects.filter(action="export_tasks", actor_name="lena").count() == 1
