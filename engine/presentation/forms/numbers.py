"""Read and write numbers as the reader's language does: 1,234.50 in English, 1.234,50 in German.

A page accepts what pages print. What the reader's language does not write that way is refused with an example, never guessed: a
German who types 12.50 means twelve and a half, and 1.250 twelve hundred and fifty.
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
    """Give the decimal sign and the thousands sign of the reader's language."""
    return str(get_format("DECIMAL_SEPARATOR")), str(get_format("THOUSAND_SEPARATOR"))


@cache
def _pattern(decimal: str, thousands: str) -> re.Pattern[str]:
    apart = re.escape(thousands + SPACES)
    whole = rf"(?P<whole>\d+|\d{{1,3}}(?:(?P<apart>[{apart}])\d{{3}})(?:(?P=apart)\d{{3}})*)"
    return re.compile(rf"(?P<sign>[+-]?){whole}?(?:{re.escape(decimal)}(?P<rest>\d*))?", re.ASCII)


def read_number(text: str) -> Json:
    """Read a decimal number as the reader's language writes it."""
    found = _pattern(*signs()).fullmatch(text) if len(text) <= LONGEST_NUMBER else None
    whole, rest = (found["whole"], found["rest"]) if found else (None, None)
    if found is None or not (whole or rest):
        raise forms.ValidationError(
            _("Enter a number, such as %(example)s.") % {"example": amount_text(EXAMPLE)}, code="number"
        )
    digits = re.sub(r"\D", "", whole or "0")
    if rest is None:
        return int(found["sign"] + digits)
    return float(f"{found['sign']}{digits}.{rest or 0}")


def read_whole(text: str) -> Json:
    """Read a whole number."""
    try:
        found = read_number(text)
    except forms.ValidationError:
        found = None
    if not isinstance(found, int):
        raise forms.ValidationError(_("Write a whole number, such as 12."), code="whole_number")
    return found


def number_text(value: float) -> str:
    """Write a number without what binary arithmetic left behind it: 18240.04, not 18240.039999999997."""
    return f"{Decimal(f'{value:.12g}'):f}"


def typed_text(value: float, *, is_amount: bool = False) -> str:
    """Write a number into a field: an amount with its cents, any other as plain digits with the reader's decimal sign."""
    return amount_text(value) if is_amount else _spelled(number_text(value))


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


def _spelled(written: str) -> str:
    """Put the reader's signs in place of the point and the commas."""
    decimal, thousands = signs()
    return written.translate({ord(","): thousands, ord("."): decimal})
