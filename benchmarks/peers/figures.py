"""The arithmetic: from what each round took to a table. Nothing here measures, so that tests can check it."""

import statistics
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.peers.crew import OURS
from benchmarks.report import Goal, Report, at_least, at_most

TITLES = {"w1": "W1", "w2": "W2"}


@dataclass(frozen=True, slots=True)
class Turn:
    """One competitor's turn in one round."""

    work: str
    clients: int
    peer: str
    units: int
    """Cases, of all clients together."""
    seconds: float
    cpu: float
    """Seconds of processor time of the clients."""
    wal: int
    """Bytes of the write-ahead log."""

    @property
    def rate(self) -> float:
        """Cases per second."""
        return self.units / self.seconds


@dataclass(frozen=True, slots=True)
class Count:
    """What one case writes."""

    work: str
    peer: str
    rows: float
    entries: float
    log: float = 0.0
    """Bytes of the write-ahead log, without images of whole pages; none: they were not told apart."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Everything that was measured, round by round."""

    rounds: tuple[tuple[Turn, ...], ...]
    counts: tuple[Count, ...]

    def turns(self, work: str, clients: int, peer: str) -> list[Turn]:
        """Return a competitor's turns, one for each round, in order."""
        wanted = (work, clients, peer)
        return [turn for each in self.rounds for turn in each if (turn.work, turn.clients, turn.peer) == wanted]

    def settings(self) -> list[tuple[str, int]]:
        """Return each work and number of clients that was measured."""
        return list(dict.fromkeys((turn.work, turn.clients) for each in self.rounds for turn in each))

    def peers(self, work: str, clients: int) -> list[str]:
        """Return who took part."""
        found = (turn.peer for each in self.rounds for turn in each if (turn.work, turn.clients) == (work, clients))
        return sorted(dict.fromkeys(found), key=lambda name: name != OURS)

    def rate(self, work: str, clients: int, peer: str) -> float:
        """Return cases per second in the median round."""
        return statistics.median(turn.rate for turn in self.turns(work, clients, peer))

    def ratios(self, work: str, clients: int, peer: str) -> list[float]:
        """Return how many times as fast ours was, round by round."""
        pairs = zip(self.turns(work, clients, OURS), self.turns(work, clients, peer), strict=True)
        return [ours.rate / theirs.rate for ours, theirs in pairs]

    def ratio(self, work: str, clients: int, peer: str) -> float:
        """Return the median of these ratios."""
        return statistics.median(self.ratios(work, clients, peer))

    def cpu(self, work: str, clients: int, peer: str) -> float:
        """Return milliseconds of the clients' processor time for a case, in the median round."""
        return 1000 * statistics.median(turn.cpu / turn.units for turn in self.turns(work, clients, peer))

    def kilobytes(self, work: str, clients: int, peer: str) -> float:
        """Return the write-ahead log of a case: its records, or else all that was written in the median round."""
        count = self.count(work, peer)
        if count and count.log:
            return count.log / 1024
        return statistics.median(turn.wal / turn.units for turn in self.turns(work, clients, peer)) / 1024

    def count(self, work: str, peer: str) -> Count | None:
        """Return what a case writes, where it was counted."""
        return next((count for count in self.counts if (count.work, count.peer) == (work, peer)), None)

    def to_dict(self) -> dict[str, Any]:
        """Write all turns and counts as plain values."""
        return asdict(self)


def row_of(measured: Measured, work: str, clients: int, peer: str) -> tuple[str, ...]:
    """Compose one line of the table."""
    count = measured.count(work, peer)
    return (
        TITLES[work], str(clients), peer, f"{measured.rate(work, clients, peer):,.0f}", _times(measured, work, clients, peer),
        f"{measured.cpu(work, clients, peer):.2f}", f"{count.rows:.0f}" if count else "", f"{count.entries:.0f}" if count else "",
        f"{measured.kilobytes(work, clients, peer):.1f}",
    )  # fmt: skip


def _times(measured: Measured, work: str, clients: int, peer: str) -> str:
    if peer == OURS:
        return "1"
    ratios = measured.ratios(work, clients, peer)
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})"


FASTER = (
    ("w1", 1, "Viewflow", 6), ("w1", 1, "DBOS, steps", 4), ("w1", 1, "DBOS, inline", 2), ("w1", 1, "floor", 0.35),
    ("w1", 8, "Viewflow", 9), ("w1", 8, "DBOS, steps", 8), ("w1", 8, "DBOS, inline", 4), ("w2", 1, "DBOS, steps", 1.5),
)  # fmt: skip
"""How many times as fast ours has to be."""


def goals_of(measured: Measured) -> tuple[Goal, ...]:
    """Compare what was found with what is wanted, as far as it was measured."""
    goals = []
    for work, clients, peer, needed in FASTER:
        if peer in measured.peers(work, clients):
            text = f"{TITLES[work]}, {clients} {'client' if clients == 1 else 'clients'}: ours against {peer}"
            goals.append(at_least(text, needed, measured.ratio(work, clients, peer)))
    return (*goals, *_written_goals(measured))


def _written_goals(measured: Measured) -> list[Goal]:
    count = measured.count("w1", OURS)
    if count is None:
        return []
    return [
        at_most("rows of one W1", 14, count.rows, ""),
        at_most("index entries of one W1", 60, count.entries, ""),
        at_most("write-ahead log of one W1", 13, measured.kilobytes("w1", 1, OURS), "KB"),
    ]


HEADERS = ("work", "clients", "who", "cases/s", "ours is … × as fast", "client ms", "rows", "index entries", "WAL KB")
NOTES = (
    (
        "One server, fsync on, a database for each. All take turns, round by round, in changing order, and are stopped while it "
        "is not their turn. Every client is a process. Ratios are medians of the ratios of each round, with the smallest and the "
        "largest. Rows, index entries and the write-ahead log are counted apart from the rounds, from the log's own records: "
        "without images of whole pages, and without what it costs to split and prune pages, which depend on chance."
    ),
    (
        "What each does, and in whose favour, is at the head of its module in benchmarks/peers. Viewflow has no retries of its "
        "own, so it does not play W2; DBOS keeps no failed attempt. One RQ job per signal is our own engine without its drain."
    ),
)


def report_of(measured: Measured, *, seconds: float = 0.0) -> Report:
    """Compose the report."""
    rows = tuple(
        row_of(measured, work, clients, peer)
        for work, clients in measured.settings()
        for peer in measured.peers(work, clients)
    )
    about = f"{len(measured.rounds)} rounds."
    return Report("peers", "Side by side with others", HEADERS, rows, goals_of(measured), (about, *NOTES), seconds)


def panels_of(measured: Measured) -> list[dict[str, Any]]:
    """Return what the picture shows: for each work and number of clients everybody's cases per second, the fastest last."""
    panels = []
    for work, clients in measured.settings():
        rates = {peer: measured.rate(work, clients, peer) for peer in measured.peers(work, clients)}
        bars = [{"who": peer, "rate": rates[peer]} for peer in sorted(rates, key=lambda peer: rates[peer])]
        title = f"{TITLES[work]}, {clients} {'client' if clients == 1 else 'clients'}: cases per second"
        panels.append({"title": title, "bars": bars})
    return panels


def read_measured(found: dict[str, Any]) -> Measured:
    """Read what `to_dict` wrote."""
    rounds = tuple(tuple(Turn(**turn) for turn in each) for each in found["rounds"])
    return Measured(rounds, tuple(Count(**count) for count in found["counts"]))
