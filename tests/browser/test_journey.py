"""The whole way of one workflow, from its first line to its last answer, through every real layer."""

from __future__ import annotations

import re
from textwrap import dedent

from playwright.sync_api import Page, expect

from tests.browser.addresses import Case, answers_at, routes_to_cases
from tests.browser.conftest import SignedIn
from tests.browser.outside_world import ORDER_NUMBER, Supplier
from tests.browser.pages import Authoring, Inbox, act, identity_in, toast
from tests.browser.watching import Watch

NAME = "order-of-parts"
TITLE = "Order of parts"
REFERENCE = "ORD-gasket"
FIRST_TASK = "Check the order of 40 gasket"
# The sentences of the timeline are the product: here they are asserted as they are.
NEWEST_FIRST = (
    "It was completed",
    "Ada answered Receive the parts: Received",
    "Ada claimed Receive the parts",
    "Order at the supplier is done",
    "Retrying Order at the supplier",
    "Order at the supplier failed",
    "The answer was 503",
    "Sleep on it is done",
    "Ada answered Check the order: Approve",
    "Nordwind",
    "Ada claimed Check the order",
    "Ada started it",
)
SECOND_TASK = f"Receive order {ORDER_NUMBER}"

LEADS_TO_THE_LIST = "/following/"
"""Leads anybody, for any task, to the list that they came from."""


def source_calling(origin: str) -> str:
    """Write a workflow with a task, a timer, a call that is tried again, and a second task."""
    return dedent(
        f"""\
        workflow: {NAME}
        title: {TITLE}
        description: A part from the supplier, once Finance agrees.
        tags: [purchasing]
        input:
          type: object
          required: [part, pieces]
          properties:
            part: {{type: string, title: Part, minLength: 3}}
            pieces: {{type: integer, title: Pieces, minimum: 1, maximum: 500}}
        reference: "ORD-${{start.part}}"
        output: {{number: "${{result.order.body.number}}"}}
        steps:
          - id: check
            title: Check the order
            task:
              title: "Check the order of ${{start.pieces}} ${{start.part}}"
              roles: [finance]
              outcomes: {{approve: {{title: Approve}}, reject: {{title: Reject, reject: true}}}}
              form:
                type: object
                required: [supplier]
                properties:
                  supplier: {{type: string, title: Supplier}}
          - id: think
            title: Sleep on it
            wait: {{for: PT1S}}
          - id: order
            title: Order at the supplier
            call:
              http:
                method: POST
                url: "{origin}/orders"
                body: {{part: "${{start.part}}", pieces: "${{start.pieces}}", from: "${{result.check.supplier}}"}}
            retry: {{attempts: 3, delay: PT1S}}
          - id: receive
            title: Receive the parts
            task:
              title: "Receive order ${{result.order.body.number}}"
              roles: [finance]
              outcomes: {{received: {{title: Received}}}}
        """
    )


def test_template_is_written_started_answered_and_completed_and_others_see_nothing(
    signed_in: SignedIn, supplier: Supplier, watch: Watch
) -> None:
    gwen, ada = signed_in("gwen"), signed_in("ada")
    template, version = write_and_activate(gwen, source_calling(supplier.origin))
    instance, first_task = start_claim_and_complete(ada)
    second_task = receive_what_a_worker_ordered(ada, supplier)
    read_the_history(ada, instance)

    case = Case(NAME, template, version, instance, second_task)
    visited = watch.addresses_with(NAME, template, version, instance, first_task, second_task)
    nothing_is_there_for(signed_in("sam"), case, visited)


def write_and_activate(gwen: Page, source: str) -> tuple[str, str]:
    """Write it with a typo, see the typo at its line, fix it, activate it."""
    authoring = Authoring(gwen)
    slip = source.replace("roles: [finance]", "roles: [finanse]", 1)
    line = slip[: slip.index("finanse")].count("\n") + 1

    authoring.begin()
    authoring.write(slip)
    expect(authoring.findings).to_have_count(1)
    expect(authoring.findings).to_contain_text("finanse")
    expect(authoring.findings.get_by_role("link")).to_have_text(re.compile(rf"^{line}:\d+$"))
    expect(authoring.line_marked).to_contain_text("finanse")

    authoring.write(source)
    expect(authoring.findings).to_have_count(0)
    authoring.activate()
    expect(gwen.get_by_text("Version 1 is active.")).to_be_visible()
    version = identity_in(gwen.url)
    return authoring.template_titled(TITLE), version


def start_claim_and_complete(ada: Page) -> tuple[str, str]:
    """Start it by its form, take the first task, answer it."""
    inbox = Inbox(ada)
    instance = inbox.start(TITLE, Part="gasket", Pieces="40")
    expect(ada.get_by_role("heading", level=1)).to_have_text(REFERENCE)
    task = inbox.open_task(FIRST_TASK)
    inbox.claim()
    expect(ada.get_by_label("Supplier")).to_be_focused()
    inbox.answer("Approve", Supplier="Nordwind")
    expect(toast(ada, "task.completed").filter(has_text=f"{REFERENCE}").filter(has_text="Approve")).to_be_visible()
    return instance, task


def receive_what_a_worker_ordered(ada: Page, supplier: Supplier) -> str:
    """See the timer and the call that was tried again go through a worker, then answer the last task."""
    inbox = Inbox(ada)
    task = inbox.open_task(SECOND_TASK)
    assert [order.answered for order in supplier.orders] == [503, 200]
    assert len({order.key for order in supplier.orders}) == 1, "every attempt carries the same idempotency key"
    assert all("manage.py worker" in order.caller for order in supplier.orders)
    assert supplier.orders[-1].body == {"part": "gasket", "pieces": 40, "from": "Nordwind"}
    inbox.claim()
    inbox.answer("Received")
    expect(toast(ada, "task.completed").filter(has_text=f"{REFERENCE}").filter(has_text="Received")).to_be_visible()
    return task


def read_the_history(ada: Page, instance: str) -> None:
    """Find the case completed, and who did what in its timeline."""
    inbox = Inbox(ada)
    inbox.open_instance(instance)
    expect(inbox.status).to_have_attribute("data-status", "completed")
    act(ada, "whole_timeline").click()
    told = "\n".join(inbox.timeline.all_inner_texts())
    places = [told.find(line) for line in NEWEST_FIRST]
    assert -1 not in places, told
    assert places == sorted(places), told


def nothing_is_there_for(sam: Page, case: Case, visited: set[str]) -> None:
    """Try every address that holds an id or a name of ours: each answers as it does for what never was."""
    wrong = {}
    for address in visited | {case.address(route) for route in routes_to_cases()}:
        answers, of_nothing = answers_at(sam, address), answers_at(sam, case.made_up(address))
        statuses = {method: status for method, (status, _) in answers.items()}
        if LEADS_TO_THE_LIST in address:
            alike = (
                statuses == {method: status for method, (status, _) in of_nothing.items()} == {"GET": 200, "POST": 405}
            )
        else:
            alike = answers == of_nothing and {404} <= set(statuses.values()) <= {404, 405}
        if not alike:
            wrong[address] = statuses
    assert wrong == {}
