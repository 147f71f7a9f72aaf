"""What row-level security costs: the same acts by the application behind both walls and by the owner without the second, in turn.

Counted is processor time, of this process and of the database's process behind its connection, so that other work on the machine
lengthens little. Each round connects once as either and gives one ratio of medians for each act. The median of the rounds is the
figure. What is asked must be kept by one round in four: those that other work on the machine spoils do not decide, and a cost
that is there is in all of them.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from random import Random
from statistics import median, quantiles

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from benchmarks.bench_tenant import set_up_tenant
from benchmarks.inbox_rows import gather, load
from benchmarks.w1 import one_case
from benchmarks.workflows import W1
from engine.services.tasks.lists import VIEWS, list_named
from tasks_inbox.presenters.lists import PAGE, UNSEEN
from tests.application import as_application
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import User
from workflowplatform.database.tenancy import acting_for

pytestmark = [
    pytest.mark.slow,
    pytest.mark.security("the database keeps tenants apart"),
    pytest.mark.django_db(transaction=True),
]

SIDES: Mapping[str, Callable[[], AbstractContextManager[None]]] = {"behind": as_application, "without": nullcontext}
ASKED, ASKED_OF_A_LIST = 1.05, 1.3
"""How many times as much something may cost behind the second wall: W1 and the inbox page whole, lists within the database."""
CASES, CASE_ROUNDS, WARM_UP = 25, 20, 8
TASKS, PEOPLE, PAGE_ROUNDS = 40_000, 20, 10

Record = Callable[[str, object], None]
Act = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Spent:
    """Milliseconds of processor time of one act."""

    client: float
    server: float


@dataclass(frozen=True, slots=True)
class Repeated:
    """An act, or several in turn, and how often they are measured in a round."""

    acts: Iterator[Act]
    times: int


def server_seconds(process: int) -> float:
    """Return the processor time of a process of this host, to the nanosecond."""
    return int(Path(f"/proc/{process}/schedstat").read_text().split()[0]) / 1e9


def backend() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


def spent_on(act: Act, process: int) -> Spent:
    server, client = server_seconds(process), time.process_time()
    act()
    client = time.process_time() - client
    return Spent(1000 * client, 1000 * (server_seconds(process) - server))


def measured(one: Repeated) -> list[Spent]:
    """Measure an act on this connection, after some to warm up."""
    for act in islice(one.acts, WARM_UP):
        act()
    process = backend()
    return [spent_on(act, process) for act in islice(one.acts, one.times)]


@dataclass(frozen=True, slots=True)
class Round:
    """What an act took on both sides, one after the other."""

    behind: list[Spent]
    without: list[Spent]

    def ratio(self, part: Callable[[Spent], float]) -> float:
        return median(map(part, self.behind)) / median(map(part, self.without))


@dataclass(frozen=True, slots=True)
class Found:
    """All rounds of an act."""

    name: str
    rounds: list[Round]

    def ratios(self, part: Callable[[Spent], float]) -> list[float]:
        return [one.ratio(part) for one in self.rounds]

    def require_below(self, asked: float, part: Callable[[Spent], float]) -> None:
        assert quantiles(self.ratios(part), n=4)[0] < asked, str(self)

    def __str__(self) -> str:
        ratios = self.ratios(whole)
        low, _, high = quantiles(ratios, n=4)
        without, behind = (
            median(whole(spent) for one in self.rounds for spent in getattr(one, side))
            for side in ("without", "behind")
        )
        return (
            f"{self.name} behind row-level security: {median(ratios):.3f} × (half of the rounds {low:.2f} to {high:.2f}; "
            f"{without:.2f} → {behind:.2f} ms of CPU), the database alone {median(self.ratios(server)):.2f} ×"
        )


def whole(spent: Spent) -> float:
    return spent.client + spent.server


def server(spent: Spent) -> float:
    return spent.server


def compared(acts: Mapping[str, Repeated], rounds: int) -> list[Found]:
    """Let both sides do everything in turn, the order reversed every other round; the first round only warms up."""
    found = defaultdict[str, list[Round]](list)
    for number in range(rounds + 1):
        laps: dict[str, dict[str, list[Spent]]] = {}
        for side in sorted(SIDES, reverse=bool(number % 2)):
            with SIDES[side]():
                laps[side] = {name: measured(one) for name, one in acts.items()}
        for name in acts if number else ():
            found[name].append(Round(laps["behind"][name], laps["without"][name]))
    return [Found(name, taken) for name, taken in found.items()]


def test_w1_costs_little_more_behind_the_wall(record_property: Record) -> None:
    """Start, claim and complete of one case, as the requests of people do."""
    bench = set_up_tenant(sources=(W1,))
    [found] = compared({"W1": Repeated(cycle([partial(one_case, bench)]), CASES)}, CASE_ROUNDS)
    record_property("figure", str(found))
    found.require_below(ASKED, whole)


def test_the_inbox_page_and_the_lists_cost_little_more_behind_the_wall(record_property: Record) -> None:
    """The first page of Available as a browser gets it, and every list as the services read it."""
    people, address = people_with_tasks(), reverse("inbox:mine") + "?view=available"
    page = Repeated(cycle([page_of(person, address) for person in people]), PEOPLE)
    lists = {f"list {view}": Repeated(cycle([list_of(person, view) for person in people]), PEOPLE) for view in VIEWS}
    [shown, *read] = compared({"inbox page": page, **lists}, PAGE_ROUNDS)
    for found in (shown, *read):
        record_property("figure", str(found))
    shown.require_below(ASKED, whole)
    for found in read:
        found.require_below(ASKED_OF_A_LIST, server)


def people_with_tasks() -> list[Actor]:
    """Load the tasks of fifty tenants, and choose people of theirs."""
    crowds = gather()
    load(crowds, TASKS)
    return Random(3).sample([person for crowd in crowds for person in crowd.people], PEOPLE)


def page_of(person: Actor, address: str) -> Act:
    browser = Client()
    browser.force_login(User.objects.get(pk=person.person_id), backend="django.contrib.auth.backends.ModelBackend")

    def act() -> None:
        assert browser.get(address).status_code == 200

    return act


def list_of(person: Actor, view: str) -> Act:
    def act() -> object:
        with acting_for(person.tenant_id):
            return list_named(person, view).opening(PAGE, without=UNSEEN)

    return act
