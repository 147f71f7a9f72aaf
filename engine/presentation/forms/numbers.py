"""Read and write numbers as the reader's language does: 1,234.50 in English, 1.234,50 in German.

A page accepts what pages print. What the reader's language does not write that way is refused with an example, never guessed: a
German who types 12.50 means twelve and a half, and 1.250 twelve hundred and fifty. Where only one number can be meant, the
refusal names it, so that the page can offer it. An amount with three decimals may be thousands in another language, so it is
refused as well.
"""

import re
from decimal import Decimal
from functools import cache

from django import forms
from django.utils.formats import get_format
from django.utils.translation import gettext as _

from engine.kernel.signals import Json

LONGEST_NUMBER = 40
SPACES = "\u0020\u00a0\u2009\u202f'’"
"""What many write between thousands, whatever their language."""
EXAMPLE = Decimal("1250.50")


def signs() -> tuple[str, str]:
    """Return the decimal sign and the thousands sign of the reader's language."""
    return str(get_format("DECIMAL_SEPARATOR")), str(get_format("THOUSAND_SEPARATOR"))


@cache
def _pattern(decimal: str, thousands: str) -> re.Pattern[str]:
    apart = re.escape(thousands + SPACES)
    whole = rf"(?P<whole>\d+|\d{{1,3}}(?:(?P<apart>[{apart}])\d{{3}})(?:(?P=apart)\d{{3}})*)"
    return re.compile(rf"(?P<sign>[+-]?){whole}?(?:{re.escape(decimal)}(?P<rest>\d*))?", re.ASCII)


MEANT = re.compile(r"(?P<sign>[+-]?)(?P<whole>\d{1,3}(?:[.,]\d{3})+|\d+)(?:[.,](?P<rest>\d{1,2}|\d{4,}))?", re.ASCII)
"""A number in the signs of any language: three digits behind a sign are thousands, one or two are decimals."""
CENTS = 2
THOUSANDS = 3


def read_number(text: str) -> Json:
    """Read a decimal number as the reader's language writes it."""
    found = _read(text)
    if found is None:
        raise _refusal(text, _("Enter a number, such as %(example)s."))
    return found


def read_amount(text: str) -> Json:
    """Read an amount: as a number, but three decimals are refused, because another language writes thousands like that."""
    found = _read(text)
    decimals = text.rpartition(signs()[0])[2] if signs()[0] in text else ""
    if found is None or len(decimals) == THOUSANDS:
        raise _refusal(text, _("Enter an amount, such as %(example)s."))
    return found


def _read(text: str) -> int | float | None:
    found = _pattern(*signs()).fullmatch(text) if len(text) <= LONGEST_NUMBER else None
    whole, rest = (found["whole"], found["rest"]) if found else (None, None)
    if found is None or not (whole or rest):
        return None
    digits = re.sub(r"\D", "", whole or "0")
    if rest is None:
        return int(found["sign"] + digits)
    return float(f"{found['sign']}{digits}.{rest or 0}")


def _refusal(text: str, enter: str) -> forms.ValidationError:
    """Refuse a text with an example; where it is a number in another language's signs, say that and how it is written here."""
    meant = _meant(text)
    return _ambiguous(meant) if meant else forms.ValidationError(enter % example(), code="number")


def _ambiguous(meant: str) -> forms.ValidationError:
    words = _("This can be read in two ways. Write it like %(example)s.") % example()
    return forms.ValidationError(words, code="ambiguous", params={"instead": meant})


def example() -> dict[str, str]:
    """Return an amount as the reader's language writes it, for sentences that show one."""
    return {"example": amount_text(EXAMPLE)}


def _meant(text: str) -> str:
    """Write what a text means in other languages' signs as this one does; empty where that is not clear."""
    plain = re.sub(f"[{re.escape(SPACES)}]", "", text)
    found = MEANT.fullmatch(plain) if len(text) <= LONGEST_NUMBER else None
    if found is None:
        return ""
    digits, rest = re.sub(r"\D", "", found["whole"]), found["rest"] or ""
    return found["sign"] + _spelled(f"{int(digits):,}.{rest.ljust(CENTS, '0')}")


def read_whole(text: str) -> Json:
    """Read a whole number."""
    found = _read(text)
    if isinstance(found, int):
        return found
    meant, no_cents = _meant(text), f"{signs()[0]}00"
    if found is None and meant.endswith(no_cents):
        raise _ambiguous(meant.removesuffix(no_cents))
    raise forms.ValidationError(_("Enter a whole number, such as 12."), code="whole_number")


def number_text(value: float) -> str:
    """Write a number without what binary arithmetic left behind it: 18240.04, not 18240.039999999997."""
    return f"{Decimal(f'{value:.12g}'):f}"


def typed_text(value: float, *, is_amount: bool = False) -> str:
    """Write a number into a field: an amount with its cents, any other as plain digits with the reader's decimal sign."""
    return _whole_amount(value) if is_amount else _spelled(number_text(value))


def _whole_amount(value: float) -> str:
    """Write an amount without losing anything: two decimals, or as many as it has, but never three."""
    decimals = len(number_text(value).partition(".")[2])
    if decimals <= CENTS:
        return amount_text(value)
    return _spelled(f"{Decimal(number_text(value)):,.{max(decimals, THOUSANDS + 1)}f}")


def amount_text(value: float | Decimal) -> str:
    """Write an amount with its thousands apart and its cents: 18,240.00."""
    return _spelled(f"{value:,.2f}")


def measure_text(value: float, unit: str = "") -> str:
    """Write a measured number with its thousands apart, an amount with its cents and its unit: 18,240.04, €18,240.00."""
    sign = "-" if value < 0 else ""
    if not unit:
        return sign + _spelled(f"{Decimal(f'{abs(value):.12g}'):,f}")
    words = {"unit": unit, "amount": amount_text(abs(value))}
    return sign + _("%(unit)s%(amount)s") % words


_DIGITS = r"\d{1,3}(?:,\d{3})*\.\d\d"
MONEY = re.compile(
    rf"(?<![\w.,])(?P<sign>-?)(?:(?P<unit>[€$£¥])(?P<amount>{_DIGITS})(?!\w|[.,]\d)|(?P<plain>{_DIGITS})(?= [A-Z]{{3}}\b))",
    re.ASCII,
)
"""An amount as `money()` writes it into a text: €1,264.50, or 1,264.50 CHF."""


def amounts_said(text: str) -> str:
    """Return a text with the amounts that `money()` wrote into it as the reader's language writes them."""
    return text if signs() == (".", ",") else MONEY.sub(_amount_said, text)


def _amount_said(found: re.Match[str]) -> str:
    if found["plain"]:
        return found["sign"] + _spelled(found["plain"])
    words = {"unit": found["unit"], "amount": _spelled(found["amount"])}
    return found["sign"] + _("%(unit)s%(amount)s") % words


def _spelled(written: str) -> str:
    """Put the reader's signs in place of the point and the commas."""
    decimal, thousands = signs()
    return written.translate({ord(","): thousands, ord("."): decimal})
