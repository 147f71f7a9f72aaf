"""Calendars in the admin: a form that a person can fill, findings in sentences, and nobody's but one's own."""

from typing import Any

import pytest

from engine.admin.calendars import read_hours
from engine.errors import Conflict
from engine.models import Audit, BusinessCalendar, TemplateVersion
from engine.services.schedules.lifecycle import cancel_schedule, create_schedule
from engine.services.templates.versions import activate_version, archive_version, save_draft
from engine.services.tenants.settings import mark_of_calendar, put_calendar
from tests.admin.conftest import SignIn, sight_of
from tests.admin.test_operations import page
from tests.admin.test_repairs import press
from tests.hooks import acts, form_errors, notices, part, toasts
from workflowplatform.accounts.actor import Actor

ADD = "/admin/engine/businesscalendar/add/"
WEEKDAYS = dict.fromkeys(("mon", "tue", "wed", "thu"), "9-12, 13:00–17:30")
TYPED = {"name": "office", "title": "The office", "timezone": "Europe/Berlin", **WEEKDAYS, "fri": "closed"}
DIFFERING = {"holidays": "2030-05-30\r\n12-25\r\n", "half_days": "12-24 9.00-12.00\r\n12-31 9-11 and 12-13"}


def errors_in(answer: Any) -> dict[str, list[str]]:
    assert answer.status_code == 200
    return form_errors(answer.context["adminform"].form)


@pytest.fixture
def office(gwen: Actor) -> BusinessCalendar:
    """Give Acme a calendar."""
    content = {"timezone": "Europe/Vienna", "hours": {"mon-fri": ["09:00-17:00"]}, "holidays": ["12-25"]}
    return put_calendar(actor=gwen, name="office", content=content, title="Acmes office")


def test_a_calendar_is_typed_as_people_write_hours_and_dates(sign_in: SignIn) -> None:
    answer = sign_in("gwen").post(ADD, TYPED | DIFFERING)
    assert answer.status_code == 302
    assert BusinessCalendar.objects.get(name="office").content == {
        "timezone": "Europe/Berlin",
        "hours": {key: ["09:00-12:00", "13:00-17:30"] for key in WEEKDAYS},
        "holidays": ["12-25", "2030-05-30"],
        "half_days": {"12-24": ["09:00-12:00"], "12-31": ["09:00-11:00", "12:00-13:00"]},
    }


def test_what_a_page_shows_can_be_saved_as_it_is(sign_in: SignIn, gwen: Actor) -> None:
    sign_in("gwen").post(ADD, TYPED | DIFFERING)
    kept = BusinessCalendar.objects.get(name="office")
    form = sign_in("gwen").get(page(kept)).context["adminform"].form
    shown = {name: form[name].value() or "" for name in form.fields}
    assert sign_in("gwen").post(page(kept), shown).status_code == 302
    assert BusinessCalendar.objects.get(name="office").content == kept.content


@pytest.mark.parametrize(
    ("typed", "errors"),
    [
        ({"timezone": "Mars/Base"}, {"timezone": "calendar"}),
        ({"mon": "nine to five"}, {"mon": "calendar"}),
        ({"sat": "9-12, 11-14"}, {"sat": "calendar"}),
        (dict.fromkeys(WEEKDAYS, ""), {"__all__": "calendar"}),
        ({"holidays": "31-12"}, {"holidays": "calendar"}),
        ({"half_days": "12-24"}, {"half_days": "no_hours"}),
        ({"half_days": "12-24 9-11\n12-24 12-14"}, {"half_days": "twice"}),
        ({"half_days": "12-24 late"}, {"half_days": "calendar"}),
        ({"holidays": "12-24", "half_days": "12-24 9-12"}, {"half_days": "calendar"}),
        ({"name": "The Office"}, {"name": "name"}),
    ],
)
def test_what_cannot_be_kept_is_said_at_its_field_and_stays_typed(
    sign_in: SignIn, typed: dict[str, str], errors: dict[str, str]
) -> None:
    answer = sign_in("gwen").post(ADD, TYPED | typed)
    assert errors_in(answer) == {field: [code] for field, code in errors.items()}
    form = answer.context["adminform"].form
    assert {name: form[name].value() for name in typed} == typed
    assert not BusinessCalendar.objects.exists()


def test_hours_that_nobody_can_read_stay_as_they_were_typed() -> None:
    assert read_hours("9-17") == ["09:00-17:00"]
    assert read_hours("8.30 – 12; 13:15-24:00") == ["08:30-12:00", "13:15-24:00"]
    assert read_hours("9-17 o'clock") == ["9-17 o'clock"]
    assert read_hours("Closed") == read_hours("  ") == []


def test_a_new_calendar_never_writes_over_one_that_is_there(sign_in: SignIn, office: BusinessCalendar) -> None:
    errors = errors_in(sign_in("gwen").post(ADD, TYPED))
    assert errors == {"name": ["taken"]}
    office.refresh_from_db()
    assert office.content["timezone"] == "Europe/Vienna"


def test_a_name_that_another_tenant_uses_is_free(sign_in: SignIn, office: BusinessCalendar) -> None:
    assert sign_in("sam").post(ADD, TYPED).status_code == 302
    assert BusinessCalendar.objects.filter(name="office").count() == 2


def test_level_four_reads_a_calendar_and_writes_none(sign_in: SignIn, office: BusinessCalendar) -> None:
    ada = sign_in("ada")
    answer = ada.get(page(office))
    assert part("ahead", answer)
    assert "12-25" in part("week", answer)
    assert 'name="mon"' not in answer.content.decode()
    acts = Audit.objects.count()
    assert ada.post(page(office), TYPED).status_code == 403
    assert ada.get(ADD).status_code == 403
    assert ada.post(ADD, TYPED | {"name": "other"}).status_code == 403
    assert Audit.objects.count() == acts


def test_another_tenants_god_finds_no_calendar_of_ours(sign_in: SignIn, office: BusinessCalendar) -> None:
    sam = sign_in("sam")
    made_up = page(office).replace(str(office.pk), "00000000-0000-7000-8000-000000000000")
    assert sam.get(page(office)).status_code == sam.get(made_up).status_code == 404
    assert sam.post(page(office), TYPED).status_code == sam.post(made_up, TYPED).status_code == 404
    assert "Acmes office" not in sight_of(sam.get("/admin/engine/businesscalendar/"))


def shown_in(answer: Any) -> dict[str, str]:
    form = answer.context["adminform"].form
    return {name: form[name].value() or "" for name in form.fields}


def test_the_second_of_two_writers_is_told_and_overwrites_nothing(sign_in: SignIn, office: BusinessCalendar) -> None:
    browser = sign_in("gwen")
    began = shown_in(browser.get(page(office)))
    assert browser.post(page(office), began | {"mon": "8-16"}).status_code == 302
    answer = browser.post(page(office), began | {"mon": "10-18", "title": "Acmes office"})
    errors = errors_in(answer)
    assert errors == {"__all__": ["changed"], "mon": ["changed"]}
    assert "08:00-16:00" in answer.context["adminform"].form.errors["mon"][0]
    office.refresh_from_db()
    assert office.content["hours"]["mon"] == ["08:00-16:00"]
    again = shown_in(answer)
    assert again["mon"] == "10-18"
    assert browser.post(page(office), again).status_code == 302
    office.refresh_from_db()
    assert office.content["hours"]["mon"] == ["10:00-18:00"]


def test_a_calendar_that_is_to_be_new_is_never_written_over_one_made_meanwhile(
    gwen: Actor, office: BusinessCalendar
) -> None:
    with pytest.raises(Conflict) as changed:
        put_calendar(actor=gwen, name="office", content={"hours": {"mon": ["09:00-10:00"]}}, seen="")
    with pytest.raises(Conflict) as gone:
        put_calendar(actor=gwen, name="gone", content=office.content, seen=mark_of_calendar(office))
    assert (changed.value.code, gone.value.code) == ("changed", "changed")
    assert BusinessCalendar.objects.get().content == office.content


def test_a_calendar_that_nothing_uses_is_deleted(sign_in: SignIn, office: BusinessCalendar) -> None:
    browser = sign_in("gwen")
    assert "delete-calendar" in acts(browser.get(page(office)))
    assert toasts(press(browser, office, "delete-calendar")) == ["businesscalendar.delete-calendar"]
    assert not BusinessCalendar.objects.exists()
    assert browser.get(page(office)).status_code == 404


COUNTS = """
workflow: counts
title: Counts by it
steps:
  - wait: {for: PT1H, calendar: office}
"""


def test_a_calendar_in_use_stays_and_says_by_what(
    sign_in: SignIn, gwen: Actor, office: BusinessCalendar, expense: TemplateVersion
) -> None:
    save_draft(actor=gwen, source=COUNTS)
    activate_version(actor=gwen, name="counts", number=1)
    begun = {"cron": "0 9 * * 1", "calendar": "office", "input": {"amount": 5}}
    schedule = create_schedule(actor=gwen, template="expense", **begun)
    browser = sign_in("gwen")
    for answer in (browser.get(page(office)), press(browser, office, "delete-calendar")):
        assert "Counts by it" in sight_of(answer)
        assert "Expense approval" in sight_of(answer)
    assert notices(press(browser, office, "delete-calendar")) == ["in_use"]
    cancel_schedule(actor=gwen, schedule_id=schedule.pk)
    archive_version(actor=gwen, name="counts", number=1)
    assert toasts(press(browser, office, "delete-calendar")) == ["businesscalendar.delete-calendar"]


def test_level_four_and_other_tenants_delete_no_calendar(sign_in: SignIn, office: BusinessCalendar) -> None:
    assert "delete-calendar" not in acts(sign_in("ada").get(page(office)))
    assert sign_in("ada").post(page(office, "delete-calendar")).status_code == 302
    assert sign_in("sam").post(page(office, "delete-calendar")).status_code == 404
    assert BusinessCalendar.objects.filter(name="office").exists()
