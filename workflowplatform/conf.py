"""Describe settings, and read those that HTTP and the database need: the first half of the one typed reader.

engine/conf.py has the other half and builds on this one. What knows nothing of workflows reads `conf` from here.
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, Self, TypeVar, overload

from django.conf import settings

Value = TypeVar("Value")

SECRETS = {"WORKFLOW_AUDIT_KEY", "WORKFLOW_OWNER_DATABASE_URL"}


class Setting(Generic[Value]):
    """Describe one setting; on an instance of `Conf` it is the setting's value."""

    def __init__(
        self, about: str, *, fits: Callable[[Any], bool], hint: str, variable: str = "", check: str = "workflow.E002"
    ) -> None:
        self.about, self.hint, self.variable, self.check = about, hint, variable, check
        self.name = ""
        self._fits = fits

    def __set_name__(self, owner: type, name: str) -> None:
        """Take the name of the setting from the attribute, and of its environment variable where it has no other."""
        self.name = f"WORKFLOW_{name.upper()}"
        self.variable = self.variable or self.name

    @overload
    def __get__(self, conf: None, owner: type) -> Self: ...
    @overload
    def __get__(self, conf: object, owner: type) -> Value: ...
    def __get__(self, conf: object, owner: type) -> Self | Value:
        """Return the current value, or this description where the class is asked."""
        return self if conf is None else getattr(settings, self.name)

    @property
    def is_wrong(self) -> bool:
        """Whether the current value is not allowed."""
        return not self._fits(getattr(settings, self.name))

    @property
    def shown(self) -> str:
        """The current value, for an operator's eyes; dots instead of a secret."""
        return "…" if self.variable in SECRETS else repr(getattr(settings, self.name))


def whole(about: str, *, least: int = 1, hint: str = "Use a whole number above zero.") -> Setting[int]:
    """Take a whole number from `least` on."""
    return Setting(about, fits=lambda value: _is_number(value, int) and value >= least, hint=hint)


def whole_or_none(about: str) -> Setting[int]:
    """Take a whole number, or 0 for no limit."""
    return whole(about, least=0, hint="Use a whole number above zero, or 0 for no limit.")


def whole_from_zero(about: str) -> Setting[int]:
    """Take a whole number, zero too."""
    return whole(about, least=0, hint="Use zero or a whole number above it.")


def number(about: str) -> Setting[float]:
    """Take a number above zero."""

    def fits(value: Any) -> bool:
        return _is_number(value, int | float) and value > 0

    return Setting(about, fits=fits, hint="Use a number above zero.")


def number_from_zero(about: str) -> Setting[float]:
    """Take a number, zero too."""

    def fits(value: Any) -> bool:
        return _is_number(value, int | float) and value >= 0

    return Setting(about, fits=fits, hint="Use zero or a number above it.")


def _is_number(value: Any, kind: Any) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def flag(about: str) -> Setting[bool]:
    """Take yes or no."""
    return Setting(about, fits=lambda value: isinstance(value, bool), hint="Use 1 or 0.")


def choice(about: str, *choices: str, check: str) -> Setting[str]:
    """Take one of some words."""
    return Setting(about, fits=lambda value: value in choices, hint=f"Use one of: {', '.join(choices)}.", check=check)


def text(about: str, *, may_be_empty: bool = False, variable: str = "") -> Setting[str]:
    """Take text."""
    return Setting(
        about,
        fits=lambda value: isinstance(value, str) and (may_be_empty or bool(value)),
        hint="Use text." if may_be_empty else "Use text that is not empty.",
        variable=variable,
    )


def words(
    about: str,
    *,
    fits: Callable[[str], bool] = bool,
    hint: str = "Use text, with commas between entries.",
    variable: str = "",
) -> Setting[Sequence[str]]:
    """Take several words, each of which `fits`."""

    def all_fit(value: Any) -> bool:
        return isinstance(value, list | tuple) and all(isinstance(word, str) and fits(word) for word in value)

    return Setting(about, fits=all_fit, hint=hint, variable=variable)


class Conf:
    """List the settings of the project; `conf` reads their values."""

    public_url = text("where people reach the product; mails link to it", may_be_empty=True)
    largest_upload = whole("bytes of all files of one form together")
    proxies = words("networks of your proxies, comma-separated, such as `127.0.0.1,10.0.0.0/24`, or `unix`")
    owner_database_url = text("the database as the owner of its tables, for `manage.py migrate`", may_be_empty=True)
    application_role = text(
        "the database role that `manage.py migrate` gives the application's rights to", may_be_empty=True
    )


conf = Conf()
