"""The away page: what an absence brings about is shown as soon as its days and its deputy are known, with and without scripts."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import FEW_LOOKS, faults_in
from tests.browser.conftest import SignedIn
from tests.browser.errands import activate
from tests.browser.faces import FACES, WORDS
from tests.browser.pages import act, notice
from tests.browser.pictures import picture

NAMED = """\
workflow: payment-run
title: Payment run
starters: {min_level: 2}
steps:
  - id: approve
    title: Approve payment run
    task: {title: Approve payment run, users: [ada, jonas], min_level: 2, complete_when: done >= 2}
"""
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture
def page(signed_in: SignedIn, errand_in_force: set[str]) -> None:
    """Activate a task that needs two of two people."""
    if "payment-run" not in errand_in_force:
        gwen = signed_in("gwen")
        gwen.goto("/inbox/")
        activate(gwen, NAMED)
        errand_in_force.add("payment-run")


def monday() -> date:
    ahead = datetime.now(UTC).date() + timedelta(days=60)
    return ahead - timedelta(days=ahead.weekday())


def choose_days(page: Page) -> None:
    page.locator("#from").fill(str(monday()))
    page.locator("#until").fill(str(monday() + timedelta(days=11)))


@pytest.mark.usefixtures("page")
@pytest.mark.parametrize(("language", "size"), FACES)
def test_warning_cure_and_days_come_before_saving(
    signed_in: SignedIn, language: str, size: dict[str, int] | None
) -> None:
    ada = signed_in("ada", locale=WORDS[language], **({"viewport": size} if size else {}))
    ada.goto("/inbox/away/")
    choose_days(ada)
    expect(notice(ada, "nobody_left")).to_be_visible()
    expect(ada.locator('[data-gap="approve"]')).to_have_count(1)
    days = ada.locator("[data-calendar]").first
    expect(days.locator('[data-person="ada"] [data-state="away"]')).to_have_count(10)
    expect(days.locator('[data-counts] [data-state="short"]')).to_have_count(10)
    ada.evaluate("window.scrollTo(0, 0)")
    picture(ada, f"away-{language}{'-360' if size else ''}")
    assert faults_in(ada, FEW_LOOKS) == []
    assert ada.evaluate(WIDER) <= 0
    ada.locator('[name="covers"][value="some"]').check()
    for role in ("engineering", "support"):
        ada.locator(f'[name="role"][value="{role}"]').uncheck()
    ada.locator("#deputy").focus()
    ada.locator("#deputy").select_option("mira")
    expect(ada.locator('[data-deputy="mira"]')).to_be_visible()
    expect(ada.locator("#deputy")).to_be_focused()
    expect(notice(ada, "nobody_left")).to_have_count(0)
    expect(ada.locator('[data-person="mira"] [data-state="here"]')).to_have_count(10)
    expect(ada.locator('[data-absence][data-person="ada"]')).to_have_count(0)
    expect(ada.locator("#from")).to_have_value(str(monday()))
    assert faults_in(ada, FEW_LOOKS) == []


@pytest.mark.usefixtures("page")
def test_another_person_brings_their_roles(signed_in: SignedIn) -> None:
    gwen = signed_in("gwen")
    gwen.goto("/inbox/away/")
    choose_days(gwen)
    gwen.locator("#person").select_option("adam")
    expect(gwen.locator('[name="role"][value="hr"]')).to_have_count(1)
    expect(gwen.locator("#from")).to_have_value(str(monday()))


@pytest.mark.usefixtures("page")
def test_button_checks_where_there_are_no_scripts(signed_in: SignedIn) -> None:
    ada = signed_in("ada", java_script_enabled=False)
    ada.goto("/inbox/away/")
    choose_days(ada)
    act(ada, "check_absence").click()
    expect(notice(ada, "nobody_left")).to_be_visible()
    expect(ada.locator("#from")).to_have_value(str(monday()))
