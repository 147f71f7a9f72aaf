"""Authoring in a real browser: write, break, fix, try, activate, and see which instances a change meets."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import faults_of
from tests.browser.conftest import SignedIn
from tests.browser.errands import send
from tests.browser.pages import Authoring, act, notice, toast

TRIP = """\
workflow: desk-trip
title: Trip from the desk
starters: {min_level: 2}
input:
  type: object
  required: [where]
  properties:
    where: {type: string, title: Where to}
steps:
  - id: approve
    title: Approve the trip
    task:
      title: "Trip to ${start.where}"
      roles: [finance]
      outcomes: {approve: {title: Approve}, reject: {title: Reject, reject: true}}
      form:
        type: object
        required: [note]
        properties:
          note: {type: string, title: Note}
  - id: sleep
    title: Sleep on it
    wait: {for: P2D}
"""
SLIP = TRIP.replace("[finance]", "[finanse]")
LINE = SLIP[: SLIP.index("finanse")].count("\n") + 1


def test_an_author_writes_breaks_fixes_tries_and_activates(signed_in: SignedIn) -> None:
    gwen = signed_in("gwen")
    authoring = Authoring(gwen)
    authoring.begin()
    authoring.write(SLIP)
    break_and_fix(gwen, authoring)
    lead_from_the_picture_to_the_line_and_back(gwen)
    complete_a_word(gwen)
    try_it_with_a_timer_and_keep_it(gwen)
    authoring.activate()
    expect(toast(gwen, "templateversion.activate")).to_be_visible()
    see_whom_a_change_meets(gwen, authoring)


def break_and_fix(gwen: Page, authoring: Authoring) -> None:
    """See the slip at its line, in the list and in the diagram; fix it by one click."""
    expect(authoring.line_marked).to_have_text("      roles: [finanse]")
    expect(authoring.findings.get_by_role("link")).to_have_text(f"{LINE}:15")
    expect(gwen.locator("[data-missing]")).to_have_attribute("data-errors", "1")
    expect(gwen.locator(".wfd-is-wrong")).to_have_attribute("data-step", "approve")
    gwen.locator("button.wf-repair").click()
    expect(authoring.findings).to_have_count(0)
    expect(gwen.locator(".cm-content")).to_contain_text("roles: [finance]")


def lead_from_the_picture_to_the_line_and_back(gwen: Page) -> None:
    """Click a step to go to its line; move up to another and see its step marked."""
    gwen.locator("[data-diagram] [data-step=sleep]").click()
    expect(gwen.locator(".cm-activeLine")).to_have_text("  - id: sleep")
    expect(gwen.locator(".wfd-is-chosen")).to_have_attribute("data-step", "sleep")
    gwen.keyboard.press("ArrowUp")
    expect(gwen.locator(".wfd-is-chosen")).to_have_attribute("data-step", "approve")


def complete_a_word(gwen: Page) -> None:
    """Be offered the language's keys and the document's own steps."""
    gwen.keyboard.press("Control+End")
    gwen.keyboard.type("outp")
    expect(gwen.locator(".cm-tooltip-autocomplete li").first).to_have_text("output")
    take_what_is_offered(gwen)
    gwen.keyboard.type('"${result.appr')
    expect(gwen.locator(".cm-tooltip-autocomplete li").first).to_have_text("approve")
    take_what_is_offered(gwen)
    gwen.keyboard.type(".note}")
    expect(gwen.locator(".cm-content")).to_contain_text('output: "${result.approve.note}"')


def take_what_is_offered(gwen: Page) -> None:
    """Press Enter when a person could: the editor takes none in the first instants of a list, lest a new line be eaten."""
    gwen.wait_for_timeout(200)  # sleep: longer than the editor's 75 ms; nothing in the page shows that they are over
    gwen.keyboard.press("Enter")


def try_it_with_a_timer_and_keep_it(gwen: Page) -> None:
    """Start a trial, answer its task by the real form, jump to its timer, keep the run."""
    act(gwen, "try").click()
    gwen.get_by_label("Where to").fill("Rome")
    act(gwen, "start").click()
    gwen.get_by_role("button", name="Approve", exact=True).click()
    expect(notice(gwen, "invalid")).to_contain_text("Note")
    gwen.get_by_label("Note").fill("fine")
    gwen.get_by_role("button", name="Approve", exact=True).click()
    act(gwen, "next_timer").click()
    expect(gwen.locator(".wf-sentence")).to_have_attribute("data-status", "completed")
    gwen.locator("[name=title]").fill("slept on")
    act(gwen, "keep").click()
    expect(gwen.locator("[data-test-list] .wf-passed")).to_have_count(1)


def see_whom_a_change_meets(gwen: Page, authoring: Authoring) -> None:
    """Change the role of a task while an instance waits there."""
    send(gwen, "instances/", {"template": "desk-trip", "input": {"where": "Oslo"}})
    act(gwen, "begin").click()
    authoring.write(TRIP.replace("[finance]", "[hr]"))
    act(gwen, "review").click()
    change = gwen.locator('[data-change="changed"][data-step="approve"]')
    expect(change).to_contain_text("finance → hr")
    expect(change).to_have_attribute("data-here", "1")
    expect(gwen.locator("[data-missing]")).to_have_attribute("data-running", "1")


def test_what_was_typed_and_never_saved_is_there_again(signed_in: SignedIn) -> None:
    gwen = signed_in("gwen")
    authoring = Authoring(gwen)
    authoring.begin()
    authoring.write("workflow: half-written\n")
    expect(authoring.findings).not_to_have_count(0)
    gwen.reload()
    expect(gwen.locator(".cm-content")).to_contain_text("half-written")
    gwen.locator("[data-newer] button").click()
    expect(gwen.locator(".cm-content")).to_contain_text("my-workflow")


@pytest.mark.slow
def test_sixty_steps_are_laid_out_while_one_looks_on(
    signed_in: SignedIn, record_property: Callable[[str, object], None]
) -> None:
    gwen = signed_in("gwen")
    authoring = Authoring(gwen)
    authoring.begin()
    authoring.write(sixty_steps())
    expect(gwen.locator("[data-diagram] [data-step$=s59]")).to_be_attached()
    spent = int(gwen.locator("[data-diagram]").get_attribute("data-laid-out-in") or 0)
    record_property("milliseconds_of_layout", spent)
    assert 0 < spent < 15_000
    authoring.write("workflow: nothing\n")
    expect(gwen.locator("[data-diagram-words]")).to_have_attribute("data-stale", "")


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_of_the_desk_breaks_a_rule_of_access(signed_in: SignedIn, scheme: str) -> None:
    gwen = signed_in("gwen", color_scheme=scheme)
    draft = send(gwen, "templates/", {"source": SLIP.replace("desk-trip", f"desk-{scheme}")})
    gwen.goto("/admin/engine/template/")
    gwen.get_by_role("row").filter(has_text=draft["name"]).locator("a[href*='/change/']").first.click()
    expect(gwen.locator("[data-diagram] [data-step=sleep]")).to_have_attribute("role", "link")
    version = gwen.url.removesuffix("change/")
    found = {gwen.url: faults_of(gwen)}
    beside = [f"{version}{name}/" for name in ("try", "forms", "changes", "versions")]
    for address in (*beside, *(f"/admin/engine/templateversion/{name}/" for name in ("gallery", "import"))):
        gwen.goto(address)
        found[address] = faults_of(gwen)
    assert {address: faults for address, faults in found.items() if faults} == {}


def sixty_steps() -> str:
    """Write twenty choices with two ways each."""
    lines = ["workflow: sixty", "steps:"]
    for place in range(0, 60, 3):
        lines += [f"  - id: s{place}", "    if: now > now", f"    then: [{{id: s{place + 1}, task: {{title: Look}}}}]"]
        lines += [f"    else: [{{id: s{place + 2}, wait: {{for: P1D}}}}]"]
    return "\n".join(lines) + "\n"
