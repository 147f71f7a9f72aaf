"""Doing an answered task again, from its page and from the admin."""

import pytest
from django.test import Client
from django.urls import reverse

from engine.models import Instance, Task
from tests.cast import Cast
from tests.hooks import notices
from tests.inbox.test_handing_over import browser
from tests.services.test_redo import answer, case, open_steps, task_named  # noqa: F401

pytestmark = pytest.mark.usefixtures("case")


def address(task: Task, act: str = "") -> str:
    return f"/inbox/tasks/{task.pk}/{act}"


def offers(page: Client, task: Task) -> bool:
    return 'data-part="redo"' in page.get(address(task)).content.decode()


def test_the_page_of_an_answered_task_offers_it_and_leads_to_the_task_anew(cast: Cast, case: Instance) -> None:  # noqa: F811
    lea, first = browser("lea"), task_named(case, "fill")
    assert offers(lea, first)
    sent = lea.post(address(first, "redo/"), {"reason": "<b>wrong</b>"})
    fresh = task_named(case, "fill")
    assert (sent.status_code, sent["Location"], fresh.iteration) == (302, address(fresh), "#2")
    shown = lea.get(address(fresh)).content.decode()
    assert 'value="12"' in shown
    assert not offers(lea, first)
    history = lea.get(address(first)).content.decode()
    assert "&lt;b&gt;wrong&lt;/b&gt;" in history


def test_it_is_not_offered_where_it_would_be_refused(cast: Cast, case: Instance) -> None:  # noqa: F811
    first = task_named(case, "fill")
    assert offers(browser("ada"), first)
    answer(cast, case, "check", "ada")
    answer(cast, case, "pay", "ada")
    lea = browser("lea")
    assert not offers(lea, first)
    sent = lea.post(address(first, "redo/"))
    assert sent.status_code == 403
    assert notices(sent) == ["four_eyes"]
    sent = browser("gwen").post(address(first, "redo/"))
    assert (sent.status_code, notices(sent)) == (409, ["moved_on"])


def test_the_admin_has_a_button_for_it(cast: Cast, case: Instance) -> None:  # noqa: F811
    gwen, first = browser("gwen"), task_named(case, "fill")
    page = reverse("admin:engine_task_change", args=[first.pk])
    press = reverse("admin:engine_task_redo", args=[first.pk])
    assert press in gwen.get(page).content.decode()
    assert gwen.post(press, {"reason": "asked by phone"}).status_code == 302
    assert open_steps(case) == ["fill#2"]
    assert press not in gwen.get(page).content.decode()
    assert browser("lea").post(press).status_code == 403
