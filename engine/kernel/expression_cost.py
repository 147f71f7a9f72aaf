"""Know what an expression may cost before it is computed, and count what it does cost where that could be too much.

The expression library bounds neither memory nor time: `replace` of 60 kB makes gigabytes in one step, `in` inside `filter`
computes for minutes. One evaluation has one budget, in units of about one character each (a number counts 16). Two ways lead
to an answer:

- `largest_input` says up to which size of its input an expression stays within the budget whatever the values are, from its
  tree alone. Within that size the library computes it by itself. Nearly every evaluation goes this way and pays nothing.
- Beyond it, a second program is computed whose tree asks the budget first (`counted`): every value that an operation walks
  through, copies or puts into a list passes `wf_use`, and the few functions whose result is larger than all they are given
  (replace, join, split …) are our own. What is refused is refused before the memory is taken, and on every machine alike.

Both ways give the same values: a test computes any expression both ways.
"""

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from engine.kernel.expression_tree import (
    Call,
    Constant,
    Listed,
    Loop,
    Mapped,
    Name,
    Select,
    Tree,
    binding,
    bound_to_name,
    is_binding,
    makes_list,
    walk,
)
from engine.kernel.signals import Json

BUDGET = 4 * 1024 * 1024
"""What one evaluation may walk through, copy and build, in units."""
LARGEST_INPUT = 2 * 1024 * 1024
"""What one evaluation may be given, in units: 2 MB of text, or 130,000 numbers."""
NODE = 16
"""A number, an empty text, the frame of a list: what a value counts besides its characters."""
SCALAR = 64
"""The longest text that a number or a moment becomes."""
MOST_ITERATIONS = 10_000
"""The library itself ends an expression that goes round more often."""
SEARCHED_AT_ONCE = 256
"""Looking for one text in another compares so many pairs of characters in the time of one unit."""
COPIED = 16
"""What copying one item of a loop's list takes by the library alone: 32 bytes, that no size bounds."""
CHUNK = 100
COPIED_IN_CHUNKS = 2
"""What copying one item takes where the list is made in chunks: there are no more of them than a few hundred for each item."""
PATTERN_UNIT = 100
"""What one character of a regular expression takes, in units: it is compiled anew for every text."""
FORMATTED = 1_100
"""The longest text that one clause of a format makes of a number."""

TOO_MUCH = f"this takes more than an expression may compute ({BUDGET:,} characters read and made)"
TOO_LARGE = f"an expression may read at most {LARGEST_INPUT:,} characters (a number counts {NODE})"


class TooMuch(ValueError):
    """An evaluation would go beyond its budget."""


# What an evaluation has left


class _Meter(threading.local):
    left: int | None = None
    """None: this evaluation is within its budget whatever happens."""

    def __init__(self) -> None:
        self.given: list[list[Json] | dict[Any, Json]] = []
        """What functions gave back in this evaluation: the library never lets go of it, so it is emptied afterwards."""

    def let_go(self) -> None:
        """Empty what functions gave back."""
        for one in self.given:
            one.clear()
        self.given.clear()


meter = _Meter()


def charge(units: int) -> None:
    """Take from the budget of the evaluation under way; raise before anything is made where too little is left."""
    if meter.left is None:
        return
    meter.left -= units
    if meter.left < 0:
        raise TooMuch(TOO_MUCH)


def size_of(value: Json) -> int:
    """Count a value's units; stop where it is larger than any budget."""
    total, waiting = 0, [value]
    while waiting and total <= BUDGET:
        one = waiting.pop()
        total += NODE
        if isinstance(one, (str, bytes, bytearray)):
            total += len(one)
        elif isinstance(one, list):
            waiting.extend(one)
        elif isinstance(one, dict):
            waiting.extend(one)
            waiting.extend(one.values())
    return total


def charge_for(*values: Json, times: int = 1) -> None:
    """Take the size of values from the budget."""
    if meter.left is not None:
        charge(times * sum(map(size_of, values)))


def use(value: Json, times: int = 1) -> bool:
    """Count a value that an operation of the library is about to walk through."""
    charge_for(value, times=times)
    return True


def use_pattern(pattern: Json) -> bool:
    """Count what compiling a regular expression takes."""
    if isinstance(pattern, str):
        charge(PATTERN_UNIT * pattern_length(pattern))
    return True


def use_format(text: Json) -> bool:
    """Count what the clauses of a format may make of numbers."""
    if isinstance(text, str):
        charge(len(text) + FORMATTED * text.count("%"))
    return True


def chunks(count: int | bool) -> list[list[int]]:
    """Give the places of a list in chunks, and count what making a list in chunks takes; true: it is no list."""
    if isinstance(count, bool):
        raise ValueError("a list is wanted here")
    charge(COPIED_IN_CHUNKS * (count * CHUNK // 2 + count * count // (2 * CHUNK)) + NODE * count)
    return [list(range(begin, min(begin + CHUNK, count))) for begin in range(0, count, CHUNK)]


USED: Mapping[str, Callable[[Json], bool]] = {
    "wf_use": use,
    "wf_use_4": lambda value: use(value, 4),
    "wf_use_8": lambda value: use(value, 8),
    "wf_use_pattern": use_pattern,
    "wf_use_format": use_format,
}
"""What a counted expression asks before it goes on."""


_ATOM = re.compile(r"\\[pP]|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(\d+)(?:,(\d*))?\}|.", re.DOTALL)
_LONG_ATOMS = {"\\p": 100, "\\P": 100, ".": 5}
_LONGEST_PATTERN = 1 << 40


def pattern_length(pattern: str) -> int:
    """Write the repetitions of a regular expression out and count its characters, roughly."""
    lengths, last = [0], 0
    for found in _ATOM.finditer(pattern):
        atom = found.group()
        if found.group(1) is not None:
            most = max(int(found.group(1)[:6]), int((found.group(2) or "0")[:6]))
            lengths[-1] += last * max(most - 1, 0)
            last *= max(most, 1)
        elif atom == "(":
            lengths.append(0)
            last = 0
        elif atom == ")" and len(lengths) > 1:
            last = lengths.pop()
            lengths[-1] += last
        else:
            last = _LONG_ATOMS.get(atom, 3 if atom[0] == "[" and len(atom) > 1 else 1)
            lengths[-1] += last
        lengths[-1] = min(lengths[-1], _LONGEST_PATTERN)
        last = min(last, _LONGEST_PATTERN)
    return min(sum(lengths), _LONGEST_PATTERN) + 1


# What an evaluation may cost at most


@dataclass(frozen=True, slots=True)
class Most:
    """The largest value that a part of an expression gives, and all that computing it takes."""

    size: int
    cost: int


Sizes = Mapping[str, int]
Growth = Callable[[list[int], Call], int]


def _sum(sizes: list[int], _call: Call) -> int:
    return sum(sizes)


def _times(factor: int) -> Growth:
    return lambda sizes, call: factor * sum(sizes) + SCALAR


def _scalar(_sizes: list[int], _call: Call) -> int:
    return SCALAR


def _replaced(sizes: list[int], call: Call) -> int:
    """Bound a text in which every place where `old` may stand is replaced."""
    old = call.operands[1]
    shortest = max(old.length, 1) if isinstance(old, Constant) else 1
    return sizes[0] + (sizes[0] // shortest + 1) * sizes[2]


def _joined(sizes: list[int], _call: Call) -> int:
    separator = sizes[1] if len(sizes) > 1 else 0
    return 7 * sizes[0] + (sizes[0] // NODE + 1) * separator


def _split(sizes: list[int], _call: Call) -> int:
    return (NODE + 1) * sizes[0] + NODE


def _formatted(sizes: list[int], call: Call) -> int:
    text = call.operands[0]
    clauses = (text.text or "").count("%") if isinstance(text, Constant) else sizes[0] // 2
    return sizes[0] + FORMATTED * clauses + 8 * sum(sizes[1:])


def _matched(sizes: list[int], call: Call) -> int:
    pattern = call.operands[1]
    known = isinstance(pattern, Constant)
    length = pattern_length(pattern.text or "") if isinstance(pattern, Constant) else sizes[1] * 100_000
    return sizes[0] + PATTERN_UNIT * length + (0 if known else sizes[1])


def _searched(sizes: list[int], _call: Call) -> int:
    return sum(sizes) + sizes[0] * sizes[1] // SEARCHED_AT_ONCE if len(sizes) > 1 else sum(sizes)


def _making(result: Growth) -> Growth:
    """Bound what making a text takes: all that is looked through, and the result."""
    return lambda sizes, call: result(sizes, call) + _searched(sizes[:2], call) + sum(sizes)


def searching(text: str, part: str) -> int:
    """Count what looking for one text in another may take."""
    return len(text) + len(part) + 2 * NODE + len(text) * len(part) // SEARCHED_AT_ONCE


@dataclass(frozen=True, slots=True)
class Rule:
    """How large a function's result is and what it takes, both of the sizes of what it is given."""

    size: Growth
    cost: Growth = _sum
    least: int = 0
    """With fewer operands it is no call of this function, and fails."""


_FREE = frozenset(
    {"_&&_", "_||_", "!_", "@not_strictly_false", "_[_]", "_-_", "_*_", "_/_", "_%_", "-_", "dyn", "_?_:_"}
)
"""Operations that look at no more than one number, or hand on what they are given."""
_SCALARS = frozenset({"_&&_", "_||_", "!_", "@not_strictly_false", "_-_", "_*_", "_/_", "_%_", "-_"})
_WALKS = Rule(_scalar)
_KEEPS = Rule(_sum)
RULES: Mapping[str, Rule] = {
    **dict.fromkeys(
        ("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_", "@in", "size", "type", "startsWith", "endsWith"), _WALKS
    ),
    **dict.fromkeys(("contains", "indexOf", "lastIndexOf"), Rule(_scalar, _searched)),
    "_+_": _KEEPS,
    "matches": Rule(_scalar, _matched, 2),
    **dict.fromkeys(("replace", "wf_replace"), Rule(_replaced, _making(_replaced), 3)),
    **dict.fromkeys(("join", "wf_join"), Rule(_joined, _making(_joined), 1)),
    **dict.fromkeys(("split", "wf_split"), Rule(_split, _making(_split), 1)),
    "format": Rule(_formatted, _making(_formatted), 1),
    "bytes": Rule(_times(4), _times(4)),
    "strings.quote": Rule(_times(4), _times(4)),
    "base64.encode": Rule(_times(2), _times(2)),
    "wf_concat": Rule(_times(7), _times(8)),
    "wf_contains": Rule(_scalar, lambda sizes, call: 7 * _searched(sizes, call)),
    "wf_upper": Rule(_times(3), _times(3)),
    "wf_lower": Rule(_times(3), _times(3)),
    "wf_merge": Rule(_sum, lambda sizes, call: sum(sizes) * (len(sizes) + 1)),
    "wf_unique": Rule(_sum, _times(8)),
    "wf_sort": Rule(_sum, _times(8)),
    "wf_money": Rule(lambda sizes, call: sum(sizes) + 512),
}
"""What differs from the usual: a result as large as all that is given, which is walked through once."""
_USUAL = Rule(_times(1))


def most(tree: Tree, given: int, sizes: Sizes) -> Most:
    """Bound what a part of an expression may give and take, where names hold at most `given` units."""
    return _MOST[type(tree)](tree, given, sizes)


def _most_select(tree: Select, given: int, sizes: Sizes) -> Most:
    inner = most(tree.operand, given, sizes)
    return Most(NODE if tree.only_asks else inner.size, inner.cost)


def _most_call(tree: Call, given: int, sizes: Sizes) -> Most:
    inner = [most(one, given, sizes) for one in tree.operands]
    cost = sum(one.cost for one in inner)
    if tree.function in _FREE:
        return Most(NODE if tree.function in _SCALARS else max((one.size for one in inner), default=0), cost)
    rule, found = RULES.get(_full_name(tree), _USUAL), [one.size for one in inner]
    rule = rule if len(found) >= rule.least else _USUAL
    return Most(rule.size(found, tree), cost + rule.cost(found, tree))


def _full_name(tree: Call) -> str:
    """Return `strings.quote` for a function of a namespace, which the tree keeps as a call on a name."""
    return (
        f"{tree.target.name}.{tree.function}"
        if _is_namespaced(tree) and isinstance(tree.target, Name)
        else tree.function
    )


def _is_namespaced(tree: Call) -> bool:
    return isinstance(tree.target, Name) and tree.target.name in ("math", "strings", "base64", "cel")


def _most_listed(tree: Listed, given: int, sizes: Sizes) -> Most:
    inner = [most(item, given, sizes) for item in tree.items]
    size = sum(one.size for one in inner)
    return Most(size + NODE, sum(one.cost for one in inner) + size)


def _most_mapped(tree: Mapped, given: int, sizes: Sizes) -> Most:
    parts = [part for _, key, value in tree.entries for part in (key, value) if isinstance(part, Tree)]
    return _most_listed(Listed(items=parts), given, sizes)


def _most_loop(tree: Loop, given: int, sizes: Sizes) -> Most:
    over = most(tree.over, given, sizes)
    begin = most(tree.begin, given, sizes)
    if is_binding(tree):
        result = most(tree.result, given, {**sizes, tree.kept: begin.size})
        return Most(result.size, begin.cost + result.cost)
    rounds = _rounds(tree.over, over.size, sizes)
    small, large = (_one_round(tree, given, {**sizes, tree.variable: size}) for size in (0, over.size))
    added = rounds * small.size + large.size - small.size
    kept = begin.size + (added if isinstance(tree.begin, Listed) else SCALAR)
    result = most(tree.result, given, {**sizes, tree.variable: 0, tree.kept: kept})
    rounds_cost = rounds * (small.cost + NODE) + large.cost - small.cost
    if isinstance(tree.begin, Listed):  # the library copies the list for every item that it adds
        rounds_cost += rounds * rounds * COPIED // 2
    return Most(result.size, over.cost + begin.cost + rounds_cost + result.cost)


def _rounds(over: Tree, size: int, sizes: Sizes) -> int:
    """Bound how often a loop goes round; one inside another has its share of what the other goes over."""
    if isinstance(over, Listed):
        return len(over.items)
    return size // NODE if sizes else min(MOST_ITERATIONS, size // NODE)


def _one_round(tree: Loop, given: int, sizes: Sizes) -> Most:
    """Bound one round of a loop.

    All items together are no larger than the list. So all rounds together take what each takes with an item of no size, and once
    what an item as large as the list adds to that: no growth above grows less than its argument.
    """
    inside = {**sizes, tree.kept: NODE}
    step, again = most(tree.step, given, inside), most(tree.while_, given, inside)
    return Most(step.size, step.cost + again.cost)


_MOST: Mapping[type[Tree], Callable[[Any, int, Sizes], Most]] = {
    Constant: lambda tree, given, sizes: Most(NODE + tree.length, 0),
    Name: lambda tree, given, sizes: Most(sizes.get(tree.name, given), 0),
    Select: _most_select,
    Call: _most_call,
    Listed: _most_listed,
    Mapped: _most_mapped,
    Loop: _most_loop,
}


def largest_input(tree: Tree) -> int:
    """Return up to how many units of input an expression stays within its budget, whatever the values are; -1: never."""
    given = LARGEST_INPUT
    while given >= NODE:
        if most(tree, given, {}).cost <= BUDGET:
            return given
        given //= 2
    return 0 if most(tree, 0, {}).cost <= BUDGET else -1


# Counting what it does cost


REPLACED = frozenset({"contains", "indexOf", "lastIndexOf", "replace", "split", "join"})
"""Methods of the library that are our own functions where costs are counted: `wf_at_replace` and so on."""


_TRUE = b"\x10\x01"
"""The constant true, as the serialised form has it."""


class Counting:
    """Rewrite a tree so that it asks the budget before it takes."""

    def __init__(self, tree: Tree) -> None:
        self._last = max(one.id for one in walk(tree))
        self.tree = self._counted(tree)

    def _counted(self, tree: Tree) -> Tree:
        return _COUNTED[type(tree)](self, tree) if type(tree) in _COUNTED else tree

    def _new(self) -> int:
        self._last += 1
        return self._last

    def used(self, tree: Tree, function: str = "wf_use") -> Tree:
        """Let a value be counted before it is walked through or put somewhere: bound to a name, asked after, handed on.

        It is only shown to the function. What goes through Python and back loses its kind: unsigned numbers, moments in lists.
        """
        inner = self._counted(tree)
        scalar = isinstance(tree, Call) and tree.function in _SCALARS
        if scalar or (isinstance(tree, Constant) and function == "wf_use"):
            return inner
        return bound_to_name(
            inner, self._new, lambda name: [Call(self._new(), function, None, [name()]), name(), name()]
        )

    def select(self, tree: Select) -> Tree:
        return Select(tree.id, self._counted(tree.operand), tree.key, tree.only_asks)

    def call(self, tree: Call) -> Tree:
        name = _full_name(tree)
        if name in _FREE or (name.startswith("wf_") and name not in _TYPED):
            return self._called(tree, self._counted)
        if name in REPLACED and tree.target is not None:
            return Call(tree.id, f"wf_at_{name}", None, [self._counted(one) for one in tree.operands])
        if name in ("matches", "format"):
            return self._of_text(tree, name)
        if _is_namespaced(tree):
            several = "wf_use_4" if name in ("strings.quote", "base64.encode") else "wf_use"
            return Call(tree.id, tree.function, tree.target, [self.used(one, several) for one in tree.arguments])
        several = "wf_use_4" if name == "bytes" else "wf_use"
        return self._called(tree, lambda one: self.used(one, several))

    def _called(self, tree: Call, each: Callable[[Tree], Tree]) -> Tree:
        target = each(tree.target) if tree.target is not None else None
        return Call(tree.id, tree.function, target, [each(one) for one in tree.arguments])

    def _of_text(self, tree: Call, name: str) -> Tree:
        """Count a text and its pattern, or a format and what goes into it."""
        if len(tree.operands) != 2:
            return self._called(tree, self.used)
        ways = ("wf_use", "wf_use_pattern") if name == "matches" else ("wf_use_format", "wf_use_8")
        first, *rest = [self.used(one, way) for one, way in zip(tree.operands, ways, strict=True)]
        return (
            Call(tree.id, name, first, rest) if tree.target is not None else Call(tree.id, name, None, [first, *rest])
        )

    def listed(self, tree: Listed) -> Tree:
        return Listed(tree.id, [self.used(item) for item in tree.items])

    def mapped(self, tree: Mapped) -> Tree:
        entries = [
            (own, key if isinstance(key, bytes) else self.used(key), self.used(value))
            for own, key, value in tree.entries
        ]
        return Mapped(tree.id, tree.message, entries)

    def loop(self, tree: Loop) -> Tree:
        counted = self._looped(tree)
        return self._in_chunks(counted) if makes_list(tree) else counted

    def _in_chunks(self, tree: Loop) -> Tree:
        """Make a list of short lists: the library copies a loop's list for every item that it adds.

        `whole.map(x, f)` becomes a loop over chunks of places, in it one over the places, in it `x` bound to `whole[place]`.
        """
        whole, chunk, place, kept = (f"@own{self._new()}" for _ in range(4))
        item = Call(self._new(), "_[_]", None, [Name(self._new(), whole), Name(self._new(), place)])
        step = binding(tree.variable, item, tree.step, self._new)
        inner = Loop(
            self._new(), place, Name(self._new(), chunk), tree.kept, tree.begin, tree.while_, step, tree.result
        )
        kind = Call(self._new(), "type", None, [Name(self._new(), whole)])
        is_list = Call(self._new(), "_==_", None, [kind, Name(self._new(), "list")])
        size = Call(self._new(), "size", None, [Name(self._new(), whole)])
        count = Call(self._new(), "_?_:_", None, [is_list, size, Constant(self._new(), _TRUE)])
        longer = Call(self._new(), "_+_", None, [Name(self._new(), kept), inner])
        outer = Loop(
            tree.id, chunk, Call(self._new(), "wf_chunks", None, [count]), kept, Listed(self._new(), []),
            Constant(self._new(), _TRUE), longer, Name(self._new(), kept),
        )  # fmt: skip
        return binding(whole, tree.over, outer, self._new)

    def _looped(self, tree: Loop) -> Loop:
        return Loop(
            tree.id, tree.variable, self._counted(tree.over), tree.kept, self._counted(tree.begin),
            self._counted(tree.while_), self._step(tree.step, tree.kept), self._counted(tree.result),
        )  # fmt: skip

    def _step(self, tree: Tree, kept: str) -> Tree:
        """Count what is added to a loop's list, not the list over and over."""
        if isinstance(tree, Call) and tree.function == "_?_:_":
            first, *ways = tree.arguments
            return Call(tree.id, tree.function, None, [self._counted(first), *(self._step(way, kept) for way in ways)])
        if isinstance(tree, Call) and tree.function == "_+_" and _is_name(tree.arguments[0], kept):
            return Call(tree.id, tree.function, None, [tree.arguments[0], self._counted(tree.arguments[1])])
        return self._counted(tree)


_TYPED = frozenset({"wf_min", "wf_max", "wf_period", "wf_add_business_days"})
"""Functions of ours that cannot end an evaluation by what they give back; the others count by themselves."""


def _is_name(tree: Tree, name: str) -> bool:
    return isinstance(tree, Name) and tree.name == name


_COUNTED: Mapping[type[Tree], Callable[[Counting, Any], Tree]] = {
    Select: Counting.select,
    Call: Counting.call,
    Listed: Counting.listed,
    Mapped: Counting.mapped,
    Loop: Counting.loop,
}
