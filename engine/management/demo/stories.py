"""What happened at Acme and Globex before you came: each story is a start and what people did about it.

Dates count from the day of furnishing, so that something is always late, due soon and far away. Nothing here needs a network;
the two outside calls of `LAST` are meant to fail.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any


@dataclass(frozen=True, slots=True)
class Deed:
    """What a person does: complete or claim the task at a step, or withdraw, cancel or suspend the whole case."""

    verb: str
    person: str
    step: str = ""
    outcome: str | None = None
    comment: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    at: datetime | None = None
    """When it was done; None: now."""


@dataclass(frozen=True, slots=True)
class Story:
    """One case: who started what with which input, and what was done since."""

    reference: str
    template: str
    person: str
    input: dict[str, Any]
    deeds: tuple[Deed, ...] = ()
    began: datetime | None = None
    """When it was started; None: now."""


def done(person: str, step: str, outcome: str | None = None, comment: str = "", **values: Any) -> Deed:
    """Return the deed of a person who completes a task."""
    return Deed("complete", person, step, outcome, comment, values)


def claimed(person: str, step: str) -> Deed:
    """Return the deed of a person who claims a task and no more."""
    return Deed("claim", person, step)


def cancelled(person: str, reason: str) -> Deed:
    """Return the deed of a person who cancels the case."""
    return Deed("cancel", person, comment=reason)


def withdrawn(person: str, reason: str) -> Deed:
    """Return the deed of the person who asked and withdraws the request."""
    return Deed("withdraw", person, comment=reason)


def suspended(person: str, reason: str) -> Deed:
    """Return the deed of a person who suspends the case."""
    return Deed("suspend", person, comment=reason)


def _day(days: int) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).date().isoformat()


def _moment(**ahead: float) -> str:
    return (datetime.now(UTC) + timedelta(**ahead)).replace(microsecond=0).isoformat().replace("+00:00", "Z")


def acme_stories() -> list[Story]:
    """Return the cases of Acme."""
    groups = (_expenses, _purchases, _trips, _returns, _payments, _disputes, _contracts, _joining, _leaving, _leave, _documents,
              _accesses, _repairs, _outages, _texts, _receipts, _customers, _engineering, _votes)  # fmt: skip
    return [story for group in groups for story in group()]


def _expense(number: int, person: str, purpose: str, amount: float, category: str, *deeds: Deed) -> Story:
    given = {"purpose": purpose, "amount": amount, "spent_on": _day(-6), "category": category}
    return Story(f"EXP-{datetime.now(UTC).year}-{number}", "expense-approval", person, given, deeds)


def _expenses() -> list[Story]:
    paid = done("ada", "review", "approve", approved_amount=240, cost_centre="4410")
    refused = done("ada", "review", "reject", "Headphones are in the equipment budget.", approved_amount=0)
    return [
        _expense(1175, "uri", "Headphones", 349, "equipment", refused),
        _expense(1179, "uri", "Trade fair tickets", 240, "travel", paid),
        _expense(1187, "uri", "Lisbon conference", 1264.5, "travel"),
        _expense(1191, "uri", "train to Hamburg", 189, "travel"),
        _expense(1192, "adam", "client dinner", 96.4, "meals", claimed("ada", "review")),
        _expense(1194, "gwen", "team lunch", 132.8, "meals"),
    ]


def _purchase(number: str, person: str, what: tuple[int, str, float], supplier: str, days: int, *deeds: Deed) -> Story:
    pieces, item, each = what
    given = {"item": item, "supplier": supplier, "pieces": pieces, "price_each": each, "cost_centre": "4410"}
    return Story(
        f"PO-{datetime.now(UTC).year}-{number}", "purchase-approval", person, {**given, "wanted_by": _day(days)}, deeds
    )


def _purchases() -> list[Story]:
    agreed = done("adam", "manager", "approve", "The amount fits the plan we agreed in October.")
    declined = done("adam", "manager", "reject", "The kitchen is rebuilt in spring. Ask again then.")
    changes = done("ada", "finance", "changes", "Take the recycled paper, it is cheaper.", approved_amount=168)
    monitors = done("ada", "finance", "approve", approved_amount=4725, budget_line="equipment")
    arrived = done("uri", "delivery", "complete", arrived_on=_day(0))
    chairs = done("ada", "finance", "approve", approved_amount=2334, budget_line="office")
    return [
        _purchase("0391", "uri", (25, "monitors", 189.0), "Nordwind IT GmbH", 4, monitors, arrived),
        _purchase("0398", "uri", (2, "coffee machines", 2900.0), "Bohne & Co", 20, declined),
        _purchase("0402", "uri", (40, "packs of paper", 4.2), "Papier Maier", 9, changes),
        _purchase("0409", "uri", (6, "office chairs", 389.0), "Sitzgut AG", 5, chairs),
        _purchase("0415", "gwen", (3, "servers", 2900.0), "Nordwind IT GmbH", 14),
        _purchase("0418", "uri", (14, "laptops", 1302.86), "Nordwind IT GmbH", 0, agreed, claimed("ada", "finance")),
        _purchase("0421", "uri", (1, "trade fair booth", 7900.0), "Messebau Kern", 3, agreed),
    ]


def _trip(number: str, person: str, place: str, days: int, *deeds: Deed, book: bool = False) -> Story:
    dates = {"leaves_on": _day(days), "returns_on": _day(days + 3)}
    given = {"destination": place, "purpose": "Customer visit", "cost": 780, "means": "train", "book_for_me": book}
    return Story(f"TRV-{number}", "travel-request", person, {**given, **dates}, deeds)


def _trip_expenses(
    number: str, person: str, place: str, receipts: tuple[tuple[int, str, float], ...], *deeds: Deed
) -> Story:
    rows = [{"day": _day(day), "kind": kind, "amount": amount} for day, kind, amount in receipts]
    given = {"purpose": "Customer visit", "trip": {"place": place, "from": rows[0]["day"], "to": rows[-1]["day"]}}
    return Story(f"TEX-{number}", "trip-expenses", person, {**given, "receipts": rows, "pay_to": "salary"}, deeds)


def _returns() -> list[Story]:
    graz = ((-6, "travel", 88.6), (-6, "hotel", 129.0), (-5, "meal", 31.4))
    milan = ((-12, "travel", 148.0), (-11, "hotel", 214.0), (-10, "other", 18.5))
    return [
        _trip_expenses("0207", "uri", "Graz", graz, claimed("ada", "check")),
        _trip_expenses("0203", "gwen", "Milan", milan),
    ]


def _trips() -> list[Story]:
    yes = done("adam", "approve", "approve", limit=780)
    no = done("adam", "approve", "reject", "A call will do this time.", limit=0)
    return [
        _trip("0090", "uri", "Oslo", 12, no),
        _trip("0095", "uri", "Porto", 6, yes),
        _trip("0099", "gwen", "Vienna", 4, yes, book=True),
        _trip("0102", "uri", "Lisbon", 25),
    ]


def _run(week: int, invoices: int, total: float, hours: float, *deeds: Deed, **more: Any) -> Story:
    given = {"week": week, "invoices": invoices, "total": total, "cut_off": _moment(hours=hours), **more}
    return Story(f"PAY-{datetime.now(UTC).year}-{week}", "payment-run", "adam", given, deeds)


def _payments() -> list[Story]:
    released = done("ada", "approve", "release", approved_total=64210.75, accounts_checked=True)
    return [
        _run(43, 17, 20480.0, 30, cancelled("gwen", "This run was prepared twice.")),
        _run(44, 31, 64210.75, 6, released, done("ada", "upload", order_number="B-220817")),
        _run(46, 42, 118400.0, -2),
    ]


def _dispute(number: str, supplier: str, invoice: str, amount: float, *deeds: Deed, **more: Any) -> Story:
    given = {
        "supplier": supplier,
        "invoice": invoice,
        "amount": amount,
        "wrong": "price",
        "answer_by": _day(-1),
        **more,
    }
    return Story(f"DSP-{number}", "invoice-dispute", "uri", given, deeds)


def _disputes() -> list[Story]:
    complain = done("ada", "answer", "complain", wanted_credit=310)
    lost = done("ada", "follow", "refused", "They sent the signed delivery note.", credit=0)
    return [
        _dispute("0085", "Papier Maier", "20417", 310, complain, done("ada", "follow", "credited", credit=310)),
        _dispute("0088", "Sitzgut AG", "7-1193", 310, complain, lost),
        _dispute("0093", "Nordwind GmbH", "88213", 6400, details="The offer said 5,900."),
    ]


def _contract(number: str, about: str, partner: str, cost: float, ends_in: int, *deeds: Deed) -> Story:
    given = {"contract": about, "number": number, "partner": partner, "ends_on": _day(ends_in), "cost_a_year": cost}
    return Story(f"CTR-{number}", "contract-renewal", "gwen", given, deeds)


def _contracts() -> list[Story]:
    return [
        _contract("0305", "the fleet leasing", "Autohaus Reuter", 48200, 95, claimed("adam", "decide")),
        _contract("0312", "the design licences", "Pixelwerk", 2340, 100, done("adam", "decide", "renew")),
        _contract("0318", "the office cleaning", "Blank & Rein", 15600, 400),
    ]


def _joiner(number: str, name: str, job: str, days: int, *deeds: Deed) -> Story:
    given = {"name": name, "job": job, "team": "sales", "first_day": _day(days)}
    return Story(f"ONB-{number}", "employee-onboarding", "adam", given, deeds)


def _joining() -> list[Story]:
    signed = done("adam", "contract", "signed", salary_band="B")
    ready = (done("ada", "laptop", inventory="NB-0407"), done("ada", "access", account="jlind"))
    return [
        _joiner("0055", "Jonas Lind", "Account manager", 4, signed, *ready),
        _joiner("0057", "Mira Okafor", "Sales engineer", 15, signed),
        _joiner("0060", "Lea Brandt", "Assistant", 40, claimed("adam", "contract")),
    ]


def _leaver(number: str, name: str, days: int, *deeds: Deed) -> Story:
    given = {"name": name, "last_day": _day(days), "reason": "retirement", "things": ["Laptop", "Keys", "Phone"]}
    return Story(f"OFF-{number}", "offboarding", "adam", given, deeds)


def _leaving() -> list[Story]:
    handed_over = done("adam", "handover", successor="Jonas Lind")
    return [
        _leaver("0019", "Rosa Winkler", -1, handed_over, done("ada", "things", missing=[])),
        _leaver("0021", "Peter Haas", 20),
    ]


def _days_off(number: str, person: str, days: int, *deeds: Deed) -> Story:
    given = {"kind": "holiday", "first_day": _day(21), "days": days, "stand_in": "Ada"}
    return Story(f"LVE-{number}", "leave-request", person, given, deeds)


def _leave() -> list[Story]:
    return [
        _days_off(
            "0204", "ada", 10, done("adam", "answer", "reject", "The month-end needs you. The week after is fine.")
        ),
        _days_off("0207", "uri", 2, done("adam", "answer", "approve")),
        _days_off("0211", "uri", 5),
        _days_off("0213", "uri", 12, suspended("gwen", "The works council asks for a pause.")),
    ]


def _document(number: str, kind: str, days: int, *deeds: Deed) -> Story:
    return Story(f"DOC-{number}", "document-request", "uri", {"document": kind, "needed_by": _day(days)}, deeds)


def _documents() -> list[Story]:
    return [
        _document("0029", "salary", 3, done("adam", "issue", number="HR-5512")),
        _document("0031", "contract", -1),
        _document("0034", "employment", 4),
    ]


def _access(number: str, system: str, access: str, *deeds: Deed, **more: Any) -> Story:
    given = {"system": system, "access": access, "why": "I take over the weekly report.", **more}
    return Story(f"ACC-{number}", "access-request", "uri", given, deeds)


def _accesses() -> list[Story]:
    impossible = done("ada", "grant", "impossible", "The wiki moves to another host this week.")
    return [
        _access("0128", "wiki", "write", impossible),
        _access("0133", "erp", "write", done("ada", "grant", "granted", group="erp-sales"), until=_day(30)),
        _access("0139", "crm", "read", claimed("ada", "grant")),
        _access("0142", "payroll", "admin"),
    ]


def _repair(number: str, device: str, problem: str, *deeds: Deed, **more: Any) -> Story:
    given = {"device": device, "problem": problem, "place": "Floor 2", **more}
    return Story(f"REP-{number}", "equipment-repair", "uri", given, deeds)


def _repairs() -> list[Story]:
    repaired = done("ada", "look", "repaired", found="A loose cable.", cost=0)
    replace = done("ada", "look", "replace", found="The board is broken.", cost=1180)
    return [
        _repair("0070", "Screen at desk 14", "It flickers all the time.", repaired, done("uri", "confirm", "works")),
        _repair("0074", "Laptop NB-0311", "It does not start any more.", replace),
        _repair("0077", "Printer on floor 2", "It eats every second page.", cannot_work=True),
    ]


def _outage(number: str, person: str, system: str, impact: str, minutes: float, *deeds: Deed) -> Story:
    given = {"system": system, "impact": impact, "noticed_at": _moment(minutes=-minutes), "what": "Nothing loads."}
    return Story(f"INC-{number}", "incident-report", person, given, deeds)


def _outages() -> list[Story]:
    return [
        _outage(
            "0008", "uri", "The badge reader", "normal", 300, done("ada", "fix", "false_alarm", "It was switched off.")
        ),
        _outage("0009", "uri", "Video calls", "high", 200, done("ada", "fix", "fixed", cause="supplier")),
        _outage("0012", "adam", "The web shop", "critical", 20),
    ]


def _text(number: str, headline: str, channel: str, *deeds: Deed) -> Story:
    given = {
        "headline": headline,
        "channel": channel,
        "text": f"{headline}: what you should know.",
        "publish_on": _day(8),
    }
    return Story(f"TXT-{number}", "content-review", "uri", given, deeds)


def _texts() -> list[Story]:
    return [
        _text("0038", "Acme opens in Porto", "press", done("ada", "edit", "changes", "Say in the first line when.")),
        _text("0040", "Winter opening hours", "newsletter"),
    ]


def _receipt(number: str, creditor: str, amount: float, category: str, *deeds: Deed) -> Story:
    given = {"creditor": creditor, "amount": amount, "category": category, "number": number}
    return Story(number, "invoice-receipt", "uri", given, deeds)


def _receipts() -> list[Story]:
    approved = done("adam", "approve", "approve")
    return [
        _receipt("INV-7731", "Stadtwerke", 180.4, "Misc", done("ada", "approve", "approve"), done("ada", "transfer")),
        _receipt("INV-7738", "Pixelwerk", 2340, "Software License Costs", approved),
        _receipt(
            "INV-7745", "Messebau Kern", 4100, "Misc", done("adam", "approve", "reject", "Which trade fair is this?")
        ),
        _receipt("INV-7750", "Bahn", 312, "Travel Expenses"),
    ]


def _customers() -> list[Story]:
    talk = "The parcel came open. May I have my money back?"
    reply = {"customerId": "Meier", "conversation": talk, "actionKey": "RPL-0051"}
    passport = {"customer": "Frau Meier", "document": "copy of the passport"}
    return [
        Story("RFD-A-1001", "refund", "uri", {"order": "A-1001"}),
        Story("RFD-A-9999", "refund", "uri", {"order": "A-9999"}),
        Story("CDOC-0012", "document-wait", "ada", passport),
        Story("RPL-0051", "approved-action", "ada", {**reply, "deliveryUrl": "https://crm.example/replies"}),
    ]


def _engineering() -> list[Story]:
    found = done("ada", "hardware", found="Both fans are fine.")
    return [
        Story(
            "SYS-0004", "system-failure", "uri", {"system": "Warehouse scanners", "what": "No label is read."}, (found,)
        ),
        Story("HD-0231", "help-desk", "uri", {"issue": "The badge does not open floor 3", "agent": "ada"}),
    ]


def _votes() -> list[Story]:
    asked = {"question": "Move the summer party to June?", "people": ["ada", "adam", "gwen", "uri"]}
    settled = {"question": "Close between the years?", "people": ["ada", "adam", "gwen"]}
    return [
        Story("VOTE-0006", "quorum-of-five", "uri", asked, (done("ada", "my_task", "yes"),)),
        Story(
            "VOTE-0005",
            "quorum-of-five",
            "uri",
            settled,
            (done("ada", "my_task", "yes"), done("adam", "my_task", "no")),
        ),
        Story("VCR-0007", "vacation-with-rule", "uri", {"employee": "uri", "days": 2}),
        Story(
            "JOB-0003",
            "job-advertisement",
            "adam",
            {"job": "Field engineer"},
            (done("adam", "write", text="Outdoors."),),
        ),
    ]


def last_acme_stories() -> list[Story]:
    """Return what goes wrong outside: one address that is refused (an incident), one that never answers (tried again)."""
    complain = done("ada", "answer", "complain", wanted_credit=5200)
    released = done("ada", "approve", "release", approved_total=88120.4, accounts_checked=True)
    portal = "https://portal.nordwind.example/disputes"
    return [
        _run(45, 38, 88120.4, 20, released, gateway="http://127.0.0.1:8443/payments"),
        _dispute("0091", "Nordwind GmbH", "88190", 5200, complain, portal=portal),
    ]


def mark_story() -> Story:
    """Make the last story: a payment run that is queued behind the two that are under way."""
    return _run(47, 12, 9410.0, 70)


def globex_stories() -> list[Story]:
    """Return the cases of Globex, which Acme never sees."""
    return [
        Story(
            f"EXP-{datetime.now(UTC).year}-0007",
            "expense-approval",
            "sam",
            {"purpose": "night train to Milan", "amount": 148, "spent_on": _day(-2), "category": "travel"},
        ),
        Story("LVE-0003", "leave-request", "stan", {"kind": "holiday", "first_day": _day(30), "days": 3}),
        Story(
            "REP-0002",
            "equipment-repair",
            "sam",
            {"device": "Label printer", "problem": "The roll is stuck.", "place": "Warehouse"},
            (claimed("stan", "look"),),
        ),
    ]
