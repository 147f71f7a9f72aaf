"""The amounts of tasks, as their declared columns say them, and what they come to together."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from engine.models import Task
from engine.presentation.forms.numbers import MONEY, amounts_said


@dataclass(frozen=True, slots=True)
class Amount:
    """An amount of money as `money()` writes it."""

    unit: str
    value: Decimal

    @property
    def plain(self) -> str:
        """Write its number for programs, in no language's signs."""
        return str(self.value)

    def said(self) -> str:
        """Write it as its reader does."""
        number = f"{abs(self.value):,.2f}"
        written = f"{self.unit}{number}" if self.unit in "€$£¥" else f"{number} {self.unit}"
        return amounts_said(("-" if self.value < 0 else "") + written)


def amount_of(task: Task) -> Amount | None:
    """Return the first amount among a task's columns."""
    texts = (value for value in task.columns.values() if isinstance(value, str))
    return next((amount for amount in map(_read, texts) if amount is not None), None)


def _read(text: str) -> Amount | None:
    found = MONEY.match(text)
    if found is None:
        return None
    rest = text[found.end() :].strip()
    if (rest != "") is not bool(found["plain"]) or " " in rest:
        return None
    digits = (found["amount"] or found["plain"]).replace(",", "")
    return Amount(found["unit"] or rest, Decimal(f"{found['sign']}{digits}"))


def together(tasks: Iterable[Task]) -> str:
    """Write the sum of some tasks; empty unless each has an amount, all in one currency."""
    found = [amount_of(task) for task in tasks]
    known = [amount for amount in found if amount is not None]
    if not known or len(known) < len(found) or len({amount.unit for amount in known}) > 1:
        return ""
    return Amount(known[0].unit, sum((amount.value for amount in known), Decimal(0))).said()
