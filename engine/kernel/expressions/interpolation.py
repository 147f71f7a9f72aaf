"""Turn authored values into something that can be computed.

A text that is exactly `${…}` yields a typed value; one with `${…}` inside is interpolated; `$${` is a literal `${`;
everything else is literal. Objects and lists are walked.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from engine.kernel.errors import expression_error
from engine.kernel.expressions.cel import LARGEST_RESULT, Expression, ExpressionRefused, ExpressionScope, size_of_copy
from engine.kernel.expressions.functions import as_text
from engine.kernel.signals import Json
from engine.kernel.snapshot import copied

WORTH_COUNTING = 1_024
"""What an author wrote out is counted where copies of it could fill the memory."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text: literal, or an expression beginning at `offset`."""

    text: str
    expression: bool
    offset: int


def pieces(text: str) -> list[Piece]:
    """Cut a text into literals and expressions; raise ExpressionRefused where `${` is never closed."""
    found: list[Piece] = []
    literal, place = "", 0
    while (at := text.find("${", place)) >= 0:
        if at and text[at - 1] == "$" and at > place:
            literal += text[place : at - 1] + "${"
            place = at + 2
            continue
        end = _closing(text, at + 2)
        literal += text[place:at]
        found += [Piece(literal, False, 0)] if literal else []
        found.append(Piece(text[at + 2 : end], True, at + 2))
        literal, place = "", end + 1
    literal += text[place:]
    return found + ([Piece(literal, False, 0)] if literal or not found else [])


def _closing(text: str, begin: int) -> int:
    """Find the brace that closes an expression, past inner braces and quoted texts."""
    depth, place, quote = 0, begin, ""
    while place < len(text):
        letter = text[place]
        if quote:
            place += letter == "\\"
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter == "}" and depth == 0:
            return place
        else:
            depth += (letter == "{") - (letter == "}")
        place += 1
    raise ExpressionRefused("`${` is not closed by `}`", begin)


def condition_text(text: str) -> str:
    """Take an optional `${…}` off a condition."""
    stripped = text.strip()
    if stripped.startswith("${") and stripped.endswith("}"):
        parts = pieces(stripped)
        if len(parts) == 1 and parts[0].expression:
            return parts[0].text.strip()
    return stripped


class Value:
    """An authored value, ready to be computed. `Value.of` gives the cheapest form."""

    __slots__ = ()

    def of(self, scope: ExpressionScope) -> Json:
        """Compute it."""
        raise NotImplementedError


class Constant(Value):
    __slots__ = ("_size", "_value")

    def __init__(self, value: Json) -> None:
        self._value = value
        self._size = size_of_copy(value)

    def of(self, scope: ExpressionScope) -> Json:
        if self._size > WORTH_COUNTING:
            scope.spend(self._size)
        return copied(self._value)


class Computed(Value):
    __slots__ = ("_expression",)

    def __init__(self, expression: Expression) -> None:
        self._expression = expression

    def of(self, scope: ExpressionScope) -> Json:
        return self._expression.value(scope)


class Interpolated(Value):
    __slots__ = ("_parts",)

    def __init__(self, parts: list[str | Expression]) -> None:
        self._parts = parts

    def of(self, scope: ExpressionScope) -> Json:
        texts, left = [], LARGEST_RESULT
        for part in self._parts:
            texts.append(part if isinstance(part, str) else as_text(part.value(scope)))
            left -= len(texts[-1])
            if left < 0:
                raise expression_error(f"a text has at most {LARGEST_RESULT:,} characters", "too_much")
        return "".join(texts)


class Listed(Value):
    __slots__ = ("_items",)

    def __init__(self, items: list[Value]) -> None:
        self._items = items

    def of(self, scope: ExpressionScope) -> Json:
        return [item.of(scope) for item in self._items]


class Mapped(Value):
    __slots__ = ("_items",)

    def __init__(self, items: dict[str, Value]) -> None:
        self._items = items

    def of(self, scope: ExpressionScope) -> Json:
        return {key: item.of(scope) for key, item in self._items.items()}


class Bounded(Value):
    """A value whose text has an end: what is longer cannot be stored."""

    __slots__ = ("_longest", "_value")

    def __init__(self, value: Value, longest: int) -> None:
        self._value = value
        self._longest = longest

    def of(self, scope: ExpressionScope) -> Json:
        found = self._value.of(scope)
        if isinstance(found, str) and len(found) > self._longest:
            raise expression_error(f"at most {self._longest} characters are allowed here, not {len(found)}", "too_long")
        return found


def compile_value(value: Json, extra: frozenset[str] = frozenset()) -> Value:
    """Compile an authored value of any shape."""
    if isinstance(value, str):
        return _compile_text(value, extra)
    if isinstance(value, list):
        return _unless_constant(Listed([compile_value(item, extra) for item in value]), value)
    if isinstance(value, dict):
        return _unless_constant(Mapped({key: compile_value(item, extra) for key, item in value.items()}), value)
    return Constant(value)


def _unless_constant(compiled: Value, value: Json) -> Value:
    return compiled if any("${" in text for text in texts(value)) else Constant(value)


def _compile_text(text: str, extra: frozenset[str]) -> Value:
    if "${" not in text:
        return Constant(text)
    parts = pieces(text)
    if len(parts) == 1 and parts[0].expression:
        return Computed(Expression(parts[0].text, extra))
    if not any(part.expression for part in parts):
        return Constant("".join(part.text for part in parts))
    return Interpolated([Expression(part.text, extra) if part.expression else part.text for part in parts])


def texts(value: Json) -> Iterator[str]:
    """Walk all texts inside a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts(item)
