"""The walk of the isolation matrix: every route × method × person × {own, foreign, random}, judged by one table.

A request runs inside a savepoint that is rolled back, so that each meets the same rows. Before that the rows of the other
tenant are compared: none may have changed, whatever the request. A request with an id of the other tenant must be answered
like a request with an id that nobody has.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import Any, Protocol

from django.db import connection, transaction
from django.test import Client

from tests.isolation.asking import REST, body_of, named_values, names_rows, values_of
from tests.isolation.checksums import changed, fingerprints, rows_written
from tests.isolation.routes import Route
from tests.isolation.scene import FROM, OURS, THEIRS, Rows, Stage, Who
from tests.isolation.table import Table

OWN, FOREIGN, RANDOM = "own", "foreign", "random"
CELLS = (OWN, FOREIGN, RANDOM)
"""Nobody asks from the machine itself, for which figures are open."""
REFUSALS = (400, 401, 403, 404, 405, 409, 422)
PASSING = (
    re.compile(r'(?:name="csrfmiddlewaretoken" |name="key" )?value="[A-Za-z0-9-]{32,64}"'),
    re.compile(r'"X-CSRFToken": ?"\w+"|&quot;X-CSRFToken&quot;: ?&quot;\w+&quot;'),
    re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|\+00:00)?"),
    re.compile(r"\d+\.\d\d seconds"),
    re.compile(r'^(?:#signed,|\{"#signed": ).*$', re.MULTILINE),
    re.compile(r'nonce="[^"]*"|"request_id": ?"[^"]*"'),
)
"""What differs from request to request whatever is asked."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, as far as a caller could tell answers apart."""

    status: int
    place: str
    text: str


@dataclass(frozen=True, slots=True)
class Seen:
    """How a request was answered, whether it wrote anything, and what it left in the asker's own tenant."""

    status: int
    wrote: bool
    left: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.status}{'+' if self.wrote else ''}"


class Asker(Protocol):
    """A client: sends one request and remembers nothing."""

    def __call__(self, method: str, address: str, body: Any, as_json: bool) -> Answer: ...


@dataclass(frozen=True, slots=True)
class Ask:
    """One request of the matrix."""

    route: Route
    method: str
    who: Who
    cell: str

    def __str__(self) -> str:
        return f"{self.method} {self.route.address} by {self.who.name} with {self.cell} rows"


@dataclass(frozen=True, slots=True)
class Deviation:
    """A request that was not answered as the table says, or told or changed what it must not."""

    ask: str
    kind: str
    words: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.ask}: {self.words}"


@dataclass
class Walked:
    """What a walk found, and how far it went."""

    deviations: list[Deviation] = field(default_factory=list)
    seen: dict[tuple[str, str], dict[tuple[str, str], Seen]] = field(default_factory=dict)
    """What was seen, by method and route, then by person and cell."""
    counts: Counter[str] = field(default_factory=Counter)

    def figure(self) -> str:
        self.counts["routes"] = len({address for _, address in self.seen})
        named = ("routes", "requests", "query parameters", "refusals", "compared with random")
        return ", ".join(f"{self.counts[name]:,} {name}" for name in named if self.counts[name])


class Browser:
    """Ask by Django's test client: pages in the person's session, REST with their token."""

    def __init__(self, who: Who) -> None:
        self.who = who
        self.client = Client(raise_request_exception=False)
        if who.user is not None and not who.scopes:
            self.client.force_login(who.user, backend="django.contrib.auth.backends.ModelBackend")
        self.cookies = {name: morsel.value for name, morsel in self.client.cookies.items()}

    def __call__(self, method: str, address: str, body: Any, as_json: bool) -> Answer:
        self.client.cookies = SimpleCookie()
        rest = is_rest(address)
        headers = {"Authorization": f"Token {self.who.token}"} if self.who.token and rest else {}
        if not rest or self.who.user is None:
            self.client.cookies.load(self.cookies)
        sent = {} if body is None else {"data": body}
        kind = {"content_type": "application/json"} if as_json else {}
        answer: Any = getattr(self.client, method.lower())(address, headers=headers, REMOTE_ADDR=FROM, **sent, **kind)
        content = b"".join(answer.streaming_content) if answer.streaming else answer.content
        return Answer(answer.status_code, answer.headers.get("Location", ""), content.decode("utf-8", "replace"))


def writes_nothing(table: Table) -> Callable[[Ask], bool]:
    """Choose what may be asked where nobody takes writes back: what is refused, and what only reads."""

    def chosen(ask: Ask) -> bool:
        reads = ask.method == "GET" or (ask.cell != OWN and not table.leaves(ask))
        return reads and not (table.crosses(ask) and ask.method != "GET")

    return chosen


ClientFactory = Callable[[Who], Asker]


@contextmanager
def undone() -> Iterator[None]:
    """Take back whatever a request wrote."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def walk(
    client_factory: ClientFactory,
    stage: Stage,
    routes: Iterable[Route],
    *,
    table: Table,
    levels: bool = True,
    cells: tuple[str, ...] = CELLS,
    around: Callable[[], AbstractContextManager[None]] = undone,
    chosen: Callable[[Ask], bool] = lambda ask: True,
) -> Walked:
    """Ask everything of everybody and return what deviates.

    Without `levels` the walls alone are judged (foreign like random, nothing of the other tenant shown or changed, nothing
    broken): for a walk with one of the walls taken down. `cells` and `chosen` narrow it. `around` says how a request's own
    writes are taken back; where rows are committed, ask with `around=nullcontext` and `chosen=writes_nothing(table)`.
    """
    walker = _Walker(stage, table, levels, around, {who.name: client_factory(who) for who in stage.people})
    for route in routes:
        for method in route.methods:
            for who in stage.people:
                walker.ask_cells(route, method, who, cells, chosen)
    walker.compare_rows()
    return walker.walked


class _Walker:
    def __init__(self, stage: Stage, table: Table, levels: bool, around: Any, askers: dict[str, Asker]) -> None:
        self.stage, self.table, self.levels, self.around, self.askers = stage, table, levels, around, askers
        self.walked = Walked()
        self.before = {rows.name: fingerprints(rows) for rows in (stage.ours, stage.theirs)}

    def ask_cells(self, route: Route, method: str, who: Who, cells: tuple[str, ...], chosen: Any) -> None:
        found: dict[str, Answer] = {}
        for cell in _cells_for(route, method, who, cells):
            ask = Ask(route, method, who, cell)
            if chosen(ask):
                found[cell] = self._ask(ask)
        if FOREIGN in found and RANDOM in found:
            self._compare(Ask(route, method, who, FOREIGN), found[FOREIGN], found[RANDOM])

    def _ask(self, ask: Ask) -> Answer:
        mine = self.stage.rows_of(ask.who.tenant or OURS)
        other = self.stage.theirs if mine is self.stage.ours else self.stage.ours
        rows = {OWN: mine, FOREIGN: other, RANDOM: None}[ask.cell]
        values = values_of(rows, ask.route, ask.method)
        body, as_json = body_of(ask.route, ask.method, values)
        with self.around():
            before = rows_written() if connection.in_atomic_block else -1
            answer = self.askers[ask.who.name](ask.method, ask.route.filled(values), body, as_json)
            wrote = before < 0 or rows_written() != before
            theirs, left = (self._changed(rows) if wrote else [] for rows in (other, mine))
        seen = Seen(answer.status, wrote, tuple(left))
        self._note(ask, seen)
        self._judge(ask, seen, theirs)
        if ask.who.user is not None and ask.cell != FOREIGN:
            self._judge_words(ask, answer, other)
        named = named_values(ask.route, ask.method, values)
        return Answer(answer.status, *(plain(text, named) for text in (answer.place, answer.text)))

    def _changed(self, rows: Rows) -> list[str]:
        """Name the tables in which a tenant's rows differ from what they were."""
        return changed(self.before[rows.name], fingerprints(rows))

    def _note(self, ask: Ask, seen: Seen) -> None:
        self.walked.seen.setdefault((ask.method, ask.route.address), {})[ask.who.name, ask.cell] = seen
        self.walked.counts["requests"] += 1
        self.walked.counts["refusals"] += seen.status in REFUSALS

    def _judge(self, ask: Ask, seen: Seen, theirs: list[str]) -> None:
        theirs = [name for name in theirs if name not in self.table.tells(ask)]
        if theirs and not self.table.crosses(ask):
            self.deviate(ask, "changed the other tenant's rows", ", ".join(theirs))
        if seen.status == 500:
            self.deviate(ask, "broke", str(seen))
        if not self.levels:
            return
        expected = self.table.expected(ask)
        if str(seen) not in expected:
            self.deviate(
                ask, "answered otherwise", f"{seen} instead of {' or '.join(expected) or 'a row in the table'}"
            )
        unforeseen = set(seen.left) - self.table.leaves(ask)
        if ask.cell != OWN and unforeseen:
            self.deviate(ask, "left rows behind", ", ".join(sorted(unforeseen)))

    def _judge_words(self, ask: Ask, answer: Answer, other: Rows) -> None:
        """Look for anything of the other tenant in the answer to a request that named nothing of theirs."""
        if self.table.crosses(ask):
            return
        text = f"{answer.place} {answer.text}"
        shown = [one for one in (other.name, *other.ids()) if one.lower() in text.lower()]
        if shown:
            self.deviate(ask, "showed the other tenant", ", ".join(shown[:3]))

    def _compare(self, ask: Ask, foreign: Answer, random: Answer) -> None:
        self.walked.counts["compared with random"] += 1
        if self.table.crosses(ask):
            return
        if foreign != random:
            self.deviate(ask, "told foreign from random", _difference(foreign, random))

    def compare_rows(self) -> None:
        """Look at both tenants once more when all is asked: every row is as it was."""
        for rows in (self.stage.ours, self.stage.theirs):
            if differ := self._changed(rows):
                self.deviate("the whole walk", "changed rows", f"{', '.join(differ)} of {rows.name}")

    def deviate(self, ask: Any, kind: str, words: str) -> None:
        self.walked.deviations.append(Deviation(str(ask), kind, words))


def _cells_for(route: Route, method: str, who: Who, cells: tuple[str, ...]) -> tuple[str, ...]:
    """Return whose rows are asked for. B asks for A's; callers who are not signed in ask once, except where people are named."""
    stranger = who.user is None or (who.scopes and not is_rest(route.address))
    if not names_rows(route, method) or (stranger and (who.scopes or not route.address.startswith("accounts/"))):
        return (OWN,)
    return tuple(cell for cell in cells if cell != OWN) if who.tenant == THEIRS else cells


def is_rest(address: str) -> bool:
    """Return whether a token signs in at an address."""
    return address.removeprefix("/").startswith((REST, "metrics"))


def plain(text: str, named: Iterable[str]) -> str:
    """Leave out what was asked for, and what differs by the moment."""
    for value in sorted(named, key=len, reverse=True):
        text = text.replace(f"/{value}/", "/KEY/") if value.isdigit() else text.replace(value, "KEY")
    for passing in PASSING:
        text = passing.sub("", text)
    return text


def _difference(foreign: Answer, random: Answer) -> str:
    if foreign.status != random.status:
        return f"{foreign.status} and {random.status}"
    if foreign.place != random.place:
        return f"to {foreign.place} and to {random.place}"
    at = next((n for n, (a, b) in enumerate(zip(foreign.text, random.text, strict=False)) if a != b), -1)
    return f"…{foreign.text[max(0, at - 60) : at + 60]!r} and …{random.text[max(0, at - 60) : at + 60]!r}"
