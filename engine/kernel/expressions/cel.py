"""Compute expressions: the only module that calls the CEL library.

The library returns errors as values, bounds iterations but not memory, and forgets the order of maps. So everything
goes through `Expression`: compiled once, refused when it nests comprehensions too deep or is too long, computed within
a budget (`expression_cost`), its result turned into plain JSON, checked for size and for numbers JSON cannot carry. A
bare path (`start.amount`) is read without the library.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import msgspec
from cel_expr_python import cel

from engine.kernel.errors import expression_error
from engine.kernel.expressions.cost import largest_input
from engine.kernel.expressions.counting import Counting
from engine.kernel.expressions.function_declarations import extensions
from engine.kernel.expressions.functions import CALLABLE, MISSING, NAMESPACES, STANDARD
from engine.kernel.expressions.meter import BUDGET, LARGEST_INPUT, NODE, TOO_LARGE, TOO_MUCH, meter
from engine.kernel.expressions.results import converted, kind_name
from engine.kernel.expressions.syntax_tree import Fields, Tree, order_loops, read_tree, write_tree
from engine.kernel.expressions.tokens import OPERATED, Token, own_names, tokens_of
from engine.kernel.signals import Json
from engine.kernel.snapshot import copied

NAMES = (
    "start", "state", "result", "status", "task", "signal", "item", "index", "error", "instance", "secret", "now",
    "done", "failed", "open", "total", "results",
)  # fmt: skip
LONGEST_EXPRESSION = 4_096
LONGEST_SENTENCE = 500
"""An error of the library may name the key that it missed, and a key may be long."""
SMALL = 2_048
"""An input whose JSON text is shorter is not counted more closely."""
LARGEST_RESULT = 256 * 1024
MOST_COMPREHENSIONS_DEEP = 2
MOST_COMPREHENSIONS = 6

_PATH = re.compile(r"[a-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
_MAKES_LIST = re.compile(r"\.\s*(?:map|filter)\b")
_HALF = re.compile("[\ud800-\udfff\x00]")
_LITERALS = frozenset({"true", "false", "null", "in"})
_MACROS = frozenset({"map", "filter", "all", "exists", "exists_one", "bind"})


class ExpressionScope(Protocol):
    """What an expression may read."""

    def lookup(self, root: str) -> Json:
        """Return the value of a root name, or MISSING."""

    def activation(self, environment: Any, reads: "Reads") -> Any:
        """Return the library's form of the names that an expression reads, as `bind` makes it."""

    def spend(self, made: int) -> None:
        """Count the size of a value that was made; refuse where one act makes more than it may."""


class ExpressionRefused(ValueError):
    """The expression cannot be compiled; `offset` is where, counted in characters."""

    def __init__(self, message: str, offset: int = 0) -> None:
        super().__init__(message)
        self.offset = offset


@dataclass(frozen=True, slots=True)
class Reference:
    """A name that an expression uses: `result.review.note` has root `result` and path (review, note)."""

    root: str
    path: tuple[str, ...]
    offset: int
    guarded: bool
    """Inside has() or get(), where a missing part is no error."""


Reads = tuple[tuple[str, tuple[str, ...]], ...]
"""Roots that an expression looks at, each with the keys that it takes out of it; no keys: it needs the whole."""


class Bound(NamedTuple):
    """What the library was given, and how large that is."""

    names: Any
    size: int


def bind(environment: Any, reads: Reads, scope: ExpressionScope) -> Bound:
    """Pass the library only what an expression reads: it converts every value it gets, however deep."""
    names = {}
    for root, keys in reads:
        value = scope.lookup(root)
        if keys and isinstance(value, dict):
            value = {key: value[key] for key in keys if key in value}
        if value is not MISSING:
            names[root] = value
    size = _size(names)
    if size > LARGEST_INPUT:
        raise expression_error(f"`{', '.join(sorted(names))}`: {TOO_LARGE}", "too_large")
    return Bound(environment.Activation(names), size)


def _size(names: dict[str, Json]) -> int:
    """Bound the size of values by their JSON text, which is written faster than anything here can walk."""
    text = _spelled(names)
    if len(text) < SMALL:
        return NODE // 2 * len(text)
    return len(text) + NODE * sum(map(text.count, (b",", b":", b"[", b"{")))


_spelled = msgspec.json.Encoder(enc_hook=str).encode


@lru_cache(maxsize=8192)
def covers(known: Reads, reads: Reads) -> bool:
    """Return whether what was bound for one expression holds all that another reads."""
    held = dict(known)
    return all(root in held and (not held[root] or (keys and {*keys} <= {*held[root]})) for root, keys in reads)


@lru_cache(maxsize=256)
def environment(extra: frozenset[str]) -> Any:
    """Make the library's environment: the language's names plus an author's own loop names."""
    variables = dict.fromkeys((*NAMES, *sorted(extra)), cel.Type.DYN)
    return cel.NewEnv(variables={**variables, "now": cel.Type.TIMESTAMP}, extensions=extensions())


class Expression:
    """One compiled expression."""

    __slots__ = ("_environment", "_extra", "_fits", "_path", "_program", "_reads", "roots", "text")

    def __init__(self, text: str, extra: frozenset[str] = frozenset()) -> None:
        self.text = text
        self.roots = frozenset(reference.root for reference in check_text(text))
        self._reads = read_names(text)
        self._environment = environment(extra)
        self._extra = extra
        self._fits: int | None = None
        self._program = program_of(text, extra)
        bare = _PATH.fullmatch(text.strip()) and text.strip() not in _LITERALS
        self._path = tuple(text.strip().split(".")) if bare and not text.strip().startswith("now") else None
        if self._path is not None and self._path[0] == "result" and self._path[2:] == (OPERATED,):
            self._path = None

    def value(self, scope: ExpressionScope) -> Json:
        """Compute the JSON value; raise a StepError of class `expression` when that fails."""
        if self._path is not None:
            value = self._walk(scope, self._path)
            scope.spend(size_of_copy(value))
            return copied(value)
        value, size = _as_json(self._evaluate(scope), self.text)
        scope.spend(size)
        return value

    def holds(self, scope: ExpressionScope) -> bool:
        """Compute a condition: true or false and nothing else."""
        found = self._walk(scope, self._path) if self._path is not None else self._evaluate(scope)
        if found is True or found is False:
            return bool(found)
        raise expression_error(f"`{_short(self.text)}` must be true or false, not {kind_name(found)}")

    def _evaluate(self, scope: ExpressionScope) -> Any:
        bound = scope.activation(self._environment, self._reads)
        if self._fits is None:
            self._fits = fitting_size(self.text, self._extra)
        try:
            found = self._program.eval(bound.names) if bound.size <= self._fits else self._count(bound)
            value = found.plain_value()
        except RuntimeError as problem:
            raise expression_error(f"`{_short(self.text)}`: {_sentence(str(problem))}") from None
        finally:
            if meter.given:
                meter.let_go()
        if isinstance(value, str) and found.type() == cel.Type.ERROR:  # the library spells its errors as texts
            raise expression_error(f"`{_short(self.text)}`: {_sentence(value)}{self._types(scope)}")
        return value

    def _count(self, bound: Bound) -> Any:
        """Compute what could take too much, and stop where it does."""
        program = counted_program(self.text, self._extra)
        meter.left = BUDGET
        try:
            found = program.eval(bound.names)
            overdrawn = meter.left < 0
        except RuntimeError:
            if meter.left >= 0:
                raise
            overdrawn = True
        finally:
            meter.left = None
        if overdrawn:
            raise expression_error(f"`{_short(self.text)}`: {TOO_MUCH}", "too_much")
        return found

    def _types(self, scope: ExpressionScope) -> str:
        found = ", ".join(f"{root} is {kind_name(scope.lookup(root))}" for root in sorted(self.roots))
        return f" ({found})" if found else ""

    def _walk(self, scope: ExpressionScope, path: tuple[str, ...]) -> Json:
        value, known = scope.lookup(path[0]), 1
        for part in path[1:]:
            if not isinstance(value, dict) or part not in value:
                break
            value, known = value[part], known + 1
        if value is MISSING or known < len(path):
            known -= value is MISSING
            raise expression_error(f"`{self.text}`: there is no {'.'.join(path[: known + 1])}")
        return value


def compile_program(text: str, extra: frozenset[str] = frozenset()) -> Any:
    """Parse an expression; types are looked at when it runs, so that mixed values are allowed."""
    try:
        return environment(extra).compile(own_names(text), disable_check=True)
    except RuntimeError as problem:
        raise ExpressionRefused(_sentence(str(problem)), _offset(str(problem))) from None


@lru_cache(maxsize=8192)
def fitting_size(text: str, extra: frozenset[str] = frozenset()) -> int:
    """Return up to which size of what it reads an expression is computed without counting."""
    return largest_input(_tree_of(text, extra)[0])


@lru_cache(maxsize=1024)
def counted_program(text: str, extra: frozenset[str] = frozenset()) -> Any:
    """Make the form of an expression that asks its budget before it takes."""
    tree, *around = _tree_of(text, extra)
    return environment(extra).deserialize(write_tree(Counting(tree).tree, *around))


def _tree_of(text: str, extra: frozenset[str]) -> tuple[Tree, Fields, Fields]:
    tree, outer, inner = read_tree(compile_program(text, extra).serialize())
    order_loops(tree)
    return tree, outer, inner


def program_of(text: str, extra: frozenset[str] = frozenset()) -> Any:
    """Compile an expression; one with loops that make lists goes over objects in the order of their keys."""
    program = compile_program(text, extra)
    if _MAKES_LIST.search(text) is None:
        return program
    tree, *around = read_tree(program.serialize())
    return environment(extra).deserialize(write_tree(tree, *around)) if order_loops(tree) else program


def _asks_operated(found: Reference) -> bool:
    return found.root == "result" and found.path[1:2] == (OPERATED,)


@lru_cache(maxsize=8192)
def check_text(text: str) -> tuple[Reference, ...]:
    """Refuse what is too long, too deep or calls what does not exist; give the names used."""
    if len(text) > LONGEST_EXPRESSION:
        raise ExpressionRefused(f"an expression has at most {LONGEST_EXPRESSION} characters")
    if _HALF.search(text):
        raise ExpressionRefused("an expression may not hold NUL or half characters")
    scan = _Scan(text)
    return scan.references()


@lru_cache(maxsize=8192)
def read_names(text: str) -> Reads:
    """Return which roots an expression looks at, and which keys it takes out of each."""
    return _Scan(text).reads()


class _Scan:
    """Read an expression's names from left to right, counting parentheses of macros, has() and get()."""

    def __init__(self, text: str) -> None:
        self.tokens = [*tokens_of(text), Token("other", "", len(text))]
        self.own: set[str] = set()
        self.calls: list[str] = []
        self.macros = 0

    def references(self) -> tuple[Reference, ...]:
        """Return the names used, own names of macros left out."""
        return tuple(reference for reference in self._names() if reference.root not in self.own)

    def reads(self) -> Reads:
        """Return the roots looked at with the keys taken; a macro's own name counts too, it may hide a root."""
        keys: dict[str, set[str] | None] = {}
        for found in self._names():
            known = keys.setdefault(found.root, set())
            taken = (
                {found.path[0], *([f"{found.path[0]}${OPERATED}"] if _asks_operated(found) else [])}
                if found.path
                else None
            )
            keys[found.root] = {*known, *taken} if taken and known is not None else None
        return tuple((root, tuple(sorted(taken or ()))) for root, taken in sorted(keys.items()))

    def _names(self) -> list[Reference]:
        return [reference for place in range(len(self.tokens) - 1) for reference in self._look(place)]

    def _look(self, place: int) -> list[Reference]:
        token = self.tokens[place]
        if token.text == "(":
            self._enter(place)
        elif token.text == ")" and self.calls:
            self.calls.pop()
        elif token.kind == "name" and not self._after_dot(place):
            return self._name(place)
        elif token.text == "?" and place and self.tokens[place - 1].text in (".", "["):
            raise ExpressionRefused("`.?` is not part of the language; use get(value, 'a.b', default)", token.offset)
        return []

    def _after_dot(self, place: int) -> bool:
        """Return whether a name is a part of what comes before it; a dot with nothing before it begins a root."""
        return place > 1 and self.tokens[place - 1].text == "." and self._ends_value(self.tokens[place - 2])

    def _ends_value(self, token: Token) -> bool:
        return token.text in (")", "]", "}") or (token.kind != "other" and token.text != "in")

    def _enter(self, place: int) -> None:
        before = self.tokens[place - 1] if place else None
        called = before.text if before is not None and before.kind == "name" else ""
        macro = called in _MACROS and place > 1 and self._after_dot(place - 1)
        if macro:
            self.macros += 1
            self.own.add(self.tokens[place + 1].text)
        self.calls.append("macro" if macro else called)
        if self.calls.count("macro") > MOST_COMPREHENSIONS_DEEP or self.macros > MOST_COMPREHENSIONS:
            raise ExpressionRefused(
                f"map, filter, all and exists nest at most {MOST_COMPREHENSIONS_DEEP} deep, "
                f"{MOST_COMPREHENSIONS} in one expression",
                self.tokens[place].offset,
            )

    def _name(self, place: int) -> list[Reference]:
        token = self.tokens[place]
        if token.text in _LITERALS or self.tokens[place + 1].text == "{":
            return []
        if self.tokens[place + 1].text == "(":
            return self._call(token)
        if token.text in NAMESPACES and self.tokens[place + 1].text == ".":
            self._enter_namespace(place)
            return []
        return [Reference(token.text, self._path(place), token.offset, bool({"has", "get"} & set(self.calls)))]

    def _enter_namespace(self, place: int) -> None:
        if self.tokens[place].text == "cel" and self.tokens[place + 3].text == "(":
            self.own.add(self.tokens[place + 4].text)

    def _call(self, token: Token) -> list[Reference]:
        if token.text not in CALLABLE and token.text not in STANDARD:
            raise ExpressionRefused(f"there is no function {token.text}()", token.offset)
        return []

    def _path(self, place: int) -> tuple[str, ...]:
        path = []
        while self.tokens[place + 1].text == "." and self.tokens[place + 2].kind == "name":
            if self.tokens[place + 3].text == "(":
                break
            path.append(self.tokens[place + 2].text)
            place += 2
        return tuple(path)


def size_of_copy(value: Json) -> int:
    """Return how much a copy of a value adds to the instance, roughly: numbers nothing, texts their length."""
    if isinstance(value, str):
        return len(value)
    return _size({"": value}) if isinstance(value, (list, dict)) and value else 0


def _as_json(value: Any, text: str) -> tuple[Json, int]:
    budget = [LARGEST_RESULT]
    try:
        return converted(value, budget, 0), LARGEST_RESULT - budget[0]
    except ValueError as problem:
        raise expression_error(f"`{_short(text)}`: {problem}") from None


def _short(text: str) -> str:
    return text if len(text) <= 120 else text[:117] + "…"


def _sentence(message: str) -> str:
    """Take the library's code words off a message."""
    first = message.split("\n", 1)[0]
    first = re.sub(r"^[A-Z_]+: ", "", first)
    first = first if len(first) <= LONGEST_SENTENCE else first[: LONGEST_SENTENCE - 1] + "…"
    first = re.sub(r"^ERROR: <input>:-?\d+:-?\d+: ", "", first)
    return re.sub(r" ?\(in container ''\)| \[[A-Z_]+\]$", "", first)


def _offset(message: str) -> int:
    found = re.search(r"<input>:1:(\d+)", message)
    return int(found.group(1)) - 1 if found else 0
