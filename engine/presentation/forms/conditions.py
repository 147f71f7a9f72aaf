"""Conditions of form fields: a schema that the sibling values satisfy, in words and for the browser."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext as _

from engine.diagram.step_names import label_of
from engine.kernel.forms import satisfies
from engine.kernel.signals import Json

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Condition:
    """A test of the record that contains a field."""

    test: Schema
    holds: bool = True

    def met_by(self, record: Mapping[str, Json]) -> bool:
        return satisfies(self.test, dict(record)) == self.holds

    def opposite(self) -> "Condition":
        return replace(self, holds=not self.holds)


Conditions = tuple[Condition, ...]


def condition_words(conditions: Iterable[Condition], schemas: Mapping[str, Schema], shown: Callable[..., str]) -> str:
    """Write conditions in words, such as “Pay in two parts is yes”; empty where one is too involved for that.

    `shown` writes a value as its own schema names it.
    """
    said = [_said(condition, schemas, shown) for condition in conditions]
    return _(" and ").join(said) if all(said) else ""


def _said(condition: Condition, schemas: Mapping[str, Schema], shown: Callable[..., str]) -> str:
    tested = condition.test.get("properties") or {}
    if _words_in(condition.test) - {"properties", "required"}:
        return ""
    given = [key for key in condition.test.get("required") or () if key not in tested]
    said = [_test_words(key, test, schemas, shown, condition.holds) for key, test in tested.items()]
    said += [_given_words(_name(key, schemas), condition.holds) for key in given]
    joint = _(" and ") if condition.holds else _(" or ")
    return joint.join(said) if said and all(said) else ""


def _words_in(schema: Schema) -> set[str]:
    """Name the words of a schema that test anything people must know of."""
    return {word for word in schema if word != "type" and not word.startswith("x-")}


def _name(key: str, schemas: Mapping[str, Schema]) -> str:
    return label_of(key, schemas.get(key))


def _given_words(name: str, holds: bool) -> str:
    words = _("%(name)s is filled in") if holds else _("%(name)s is left empty")
    return words % {"name": name}


def _test_words(key: str, test: Any, schemas: Mapping[str, Schema], shown: Callable[..., str], holds: bool) -> str:
    words = _words_in(test) if isinstance(test, Mapping) else set()
    word = words.pop() if len(words) == 1 else ""
    if word not in TESTS:
        return ""
    value = test[word]
    values = value if word == "enum" else [value]
    told = _(" or ").join(shown(one, schemas.get(key)) for one in values)
    sentence = TESTS[word][0 if holds else 1]
    return str(sentence()) % {"name": _name(key, schemas), "value": told}


TESTS: Mapping[str, tuple[Callable[[], str], Callable[[], str]]] = {
    "const": (lambda: _("%(name)s is %(value)s"), lambda: _("%(name)s is not %(value)s")),
    "enum": (lambda: _("%(name)s is %(value)s"), lambda: _("%(name)s is not %(value)s")),
    "minimum": (lambda: _("%(name)s is %(value)s or more"), lambda: _("%(name)s is less than %(value)s")),
    "exclusiveMinimum": (lambda: _("%(name)s is more than %(value)s"), lambda: _("%(name)s is %(value)s or less")),
    "maximum": (lambda: _("%(name)s is %(value)s or less"), lambda: _("%(name)s is more than %(value)s")),
    "exclusiveMaximum": (lambda: _("%(name)s is less than %(value)s"), lambda: _("%(name)s is %(value)s or more")),
    "minLength": (lambda: _("%(name)s is filled in"), lambda: _("%(name)s is left empty")),
}
"""How a test is said where it must hold, and where it must not."""
