"""What happened at Acme in the last thirty days: everyday requests, told by the day on which the demo is made.

Nothing is left to chance: the number of a case says who asked for what, who answered when, and how. All answers are in the past.
Only the two cases of `_still_open` still wait for an answer.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import accumulate
from typing import Any

from engine.management.demo.stories import Deed, Story, claimed, done, withdrawn

DAYS = 30
A_DAY = 5
"""Requests on a working day; one on a day of a weekend."""
BETWEEN = timedelta(minutes=97)
WEEKEND = 5
USUAL = (2, 5, 20, 3, 27, 8, 54, 1, 22, 6, 30)
"""Hours until an answer; the longest is late everywhere."""
ASKING = ("uri", "gwen", "uri", "jonas", "uri", "adam", "uri", "mira")
OFFICES = {
    "finance": ("ada", "mira"),
    "hr": ("adam", "mira"),
    "management": ("adam", "jonas"),
    "support": ("ada", "jonas"),
}


def past_stories(now: datetime) -> list[Story]:
    """Return the cases that began in the thirty days before, oldest first."""
    stories = [_told(number, began, now) for number, began in enumerate(_moments(now))]
    return sorted([*stories, *_still_open(now)], key=lambda story: story.began or now)


def _moments(now: datetime) -> Iterator[datetime]:
    """Yield when each case began, day by day during office hours."""
    for days in range(DAYS, 0, -1):
        morning = (now - timedelta(days=days)).astimezone(UTC).replace(hour=7, minute=41, second=12, microsecond=0)
        for place in range(A_DAY if morning.weekday() < WEEKEND else 1):
            yield morning + place * BETWEEN


def _told(number: int, began: datetime, now: datetime) -> Story:
    """Make the story of one request; every kind counts its own, so that its people and ends take turns."""
    story = KINDS[number % len(KINDS)](number // len(KINDS), began)
    if number % 14 == 9:
        story = replace(story, deeds=(withdrawn(story.person, "It is not needed any more."),))
    return replace(story, began=began, deeds=_timed(number, story.deeds, began, now))


def _timed(number: int, deeds: tuple[Deed, ...], began: datetime, now: datetime) -> tuple[Deed, ...]:
    """Set the moment of each deed; what would be in the future was done sooner."""
    hours = list(accumulate(USUAL[(number + 3 * place) % len(USUAL)] for place in range(len(deeds))))
    left = (now - began) / timedelta(hours=1) - 1
    share = min(1.0, left / hours[-1]) if hours else 1.0
    return tuple(
        replace(deed, at=began + timedelta(hours=after * share)) for deed, after in zip(deeds, hours, strict=True)
    )


def _asks(n: int, but: str = "") -> str:
    """Return who asks; nobody asks for what they will answer themselves."""
    asking = [name for name in ASKING if name != but]
    return asking[n % len(asking)]


def _answers(office: str, n: int) -> str:
    return OFFICES[office][n % 2]


def _later(began: datetime, days: int) -> str:
    return (began + timedelta(days=days)).date().isoformat()


def _expense(n: int, began: datetime, *, first: int = 1130) -> Story:
    purpose, amount, category = EXPENSES[n % len(EXPENSES)]
    who = _answers("finance", n)
    yes = done(who, "review", "approve", approved_amount=amount, cost_centre=("4400", "4410")[n % 2])
    deed = done(who, "review", "reject", "The receipt is missing.") if n % 4 == 3 else yes
    given = {"purpose": purpose, "amount": amount, "spent_on": _later(began, -2), "category": category}
    return Story(f"EXP-{began.year}-{first + n}", "expense-approval", _asks(n, who), given, (deed,))


def _leave(n: int, began: datetime) -> Story:
    """Make the story of a leave; some are answered by nobody, which is a no after a week."""
    who = _answers("management", n)
    yes, no = done(who, "answer", "approve"), done(who, "answer", "reject", "Two of us are away that week.")
    deeds = () if n in (1, 6) else (no,) if n % 5 == 4 else (yes,)
    given = {"kind": "holiday", "first_day": _later(began, 40), "days": 1 + n % 9}
    return Story(f"LVE-{180 + n:04}", "leave-request", _asks(n, who), given, deeds)


def _repair(n: int, began: datetime) -> Story:
    """Make the story of a repair; no answer of its owner counts as yes after three days."""
    device, problem = BROKEN[n % len(BROKEN)]
    person, who = _asks(n), _answers("support", n)
    look = done(who, "look", "repaired", found="A worn part.", cost=4 * n)
    deeds = (look,) if n in (2, 7) else (look, done(person, "confirm", "works"))
    given = {"device": device, "problem": problem, "place": f"Floor {1 + n % 3}"}
    return Story(f"REP-{50 + n:04}", "equipment-repair", person, given, deeds)


def _document(n: int, began: datetime) -> Story:
    """Make the story of a certificate; some expire because nobody issued them by the day."""
    person, kind = _asks(n), ("salary", "employment", "contract")[n % 3]
    issued = done(_answers("hr", n), "issue", number=f"HR-{5460 + n}")
    deeds = () if n in (2, 7) else (issued, done(person, "fetch", "fetched"))
    given = {"document": kind, "needed_by": _later(began, 6)}
    return Story(f"DOC-{12 + n:04}", "document-request", person, given, deeds)


def _access(n: int, began: datetime) -> Story:
    """Make the story of an access; what Support cannot open has failed."""
    who, system = _answers("support", n), ("crm", "wiki", "erp")[n % 3]
    granted = done(who, "grant", "granted", group=f"{system}-staff")
    impossible = done(who, "grant", "impossible", "There is no licence left.")
    given = {"system": system, "access": "read", "why": "I look after these customers now."}
    deed = impossible if n % 4 == 2 else granted
    return Story(f"ACC-{110 + n:04}", "access-request", _asks(n, who), given, (deed,))


def _purchase(n: int, began: datetime) -> Story:
    pieces, item, each = PURCHASES[n % len(PURCHASES)]
    who = _answers("finance", n)
    person = _asks(n, who)
    yes = done(who, "finance", "approve", approved_amount=pieces * each, budget_line="office")
    arrived = done(person, "delivery", "complete", arrived_on=_later(began, 1))
    no = done(who, "finance", "reject", "There are some left in the store room.")
    given = {"item": item, "supplier": "Papier Maier", "pieces": pieces, "price_each": each, "cost_centre": "4410"}
    deeds = (no,) if n % 6 == 5 else (yes, arrived)
    wanted = {**given, "wanted_by": _later(began, 7)}
    return Story(f"PO-{began.year}-{370 + n:04}", "purchase-approval", person, wanted, deeds)


def _trip(n: int, began: datetime) -> Story:
    """Make the story of a trip; people still away come back later, by the clock."""
    who, place = _answers("management", n), ("Hamburg", "Vienna", "Lyon", "Porto")[n % 4]
    dates = {"leaves_on": _later(began, 5), "returns_on": _later(began, 7)}
    given = {"destination": place, "purpose": "Customer visit", "cost": 300 + 20 * n, "means": "train"}
    yes, no = done(who, "approve", "approve", limit=700), done(who, "approve", "reject", "Call them.", limit=0)
    deeds = (no,) if n % 5 == 3 else (yes,)
    return Story(f"TRV-{72 + n:04}", "travel-request", _asks(n, who), {**given, **dates}, deeds)


KINDS: tuple[Callable[[int, datetime], Story], ...] = (
    _expense,
    _leave,
    _repair,
    _document,
    partial(_expense, first=1150),
    _access,
    _purchase,
    _trip,
)
EXPENSES = (
    ("Train to Cologne", 118.4, "travel"),
    ("Lunch with Nordwind", 86.2, "meals"),
    ("Webcam", 74.9, "equipment"),
    ("Taxi from the airport", 41.5, "travel"),
    ("Books on accounting", 129.0, "other"),
)
BROKEN = (
    ("Desk lamp", "It hums and goes out."),
    ("Meeting room screen", "The picture is green."),
    ("Coffee machine", "No water comes."),
    ("Headset", "One side is silent."),
)
PURCHASES = ((12, "whiteboard markers", 2.9), (4, "desk chairs", 289.0), (2, "label printers", 164.5))


def _still_open(now: datetime) -> list[Story]:
    """Return two requests that were claimed days ago and not answered: late, and in no other list."""
    broken: dict[str, Any] = {"device": "Badge printer", "problem": "Every card comes out blank.", "place": "Reception"}
    dinner = {"purpose": "Dinner with Messebau Kern", "amount": 212.6, "category": "meals"}
    repair, expense = now - timedelta(days=6, hours=3), now - timedelta(days=5, hours=2)
    taken = [replace(claimed("jonas", "look"), at=repair + timedelta(hours=4))]
    held = [replace(claimed("mira", "review"), at=expense + timedelta(hours=3))]
    given = {**dinner, "spent_on": _later(expense, -3)}
    return [
        Story("REP-0067", "equipment-repair", "gwen", broken, tuple(taken), repair),
        Story(f"EXP-{expense.year}-1170", "expense-approval", "jonas", given, tuple(held), expense),
    ]
