"""A calendar that can no longer be read makes no page fail: the page says what is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from django.db.models import Model

from engine.dispatch.drain import drain
from engine.models import Audit, BusinessCalendar, Schedule
from tests.admin.conftest import SignIn

WRONG: tuple[Any, ...] = (
    "a text", 7, [], [1], {}, {"hours": "always"}, {"hours": {"mon": [9]}}, {"hours": {"mon": ["25:00-26:00"]}},
    {"timezone": "Mars/Olympus", "hours": {"mon": ["09:00-17:00"]}}, {"hours": {"mon": ["09:00-17:00"]}, "holidays": [7]},
    {"hours": {"mon": ["09:00-17:00"]}, "half_days": {"12-24": 7}}, {"unknown": {"deep": [1]}},
)  # fmt: skip


@pytest.mark.parametrize("content", WRONG, ids=str)
@pytest.mark.parametrize("person", ["gwen", "ada"])
def test_a_calendar_that_cannot_be_read_says_so(
    acmes: dict[str, Model], sign_in: SignIn, content: Any, person: str
) -> None:
    calendar, schedule = acmes["engine.businesscalendar"], acmes["engine.schedule"]
    BusinessCalendar.objects.filter(pk=calendar.pk).update(content=content)
    Schedule.objects.filter(pk=schedule.pk).update(calendar="acmes_office")
    client = sign_in(person)
    assert client.get("/admin/engine/businesscalendar/").status_code == 200
    assert client.get("/admin/engine/schedule/").status_code == 200
    for place in (f"businesscalendar/{calendar.pk}", f"schedule/{schedule.pk}"):
        page = client.get(f"/admin/engine/{place}/change/")
        assert page.status_code == 200
        assert 'class="wf-notice wf-bad"' in page.content.decode(), place


def test_a_schedule_whose_calendar_cannot_be_read_is_paused_with_the_reason(acmes: dict[str, Model]) -> None:
    schedule = Schedule.objects.get(pk=acmes["engine.schedule"].pk)
    BusinessCalendar.objects.filter(pk=acmes["engine.businesscalendar"].pk).update(content={"hours": "always"})
    past = schedule.created_at.replace(minute=0, second=0, microsecond=0)
    Schedule.objects.filter(pk=schedule.pk).update(calendar="acmes_office", next_at=past, look_at=past)
    drain()
    schedule.refresh_from_db()
    assert schedule.status == "paused"
    assert Audit.objects.filter(action="pause_schedule", cause__contains="acmes_office cannot be read").exists()
