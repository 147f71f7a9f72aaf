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

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from engine.kernel.expressions.meter import (
    BUDGET,
    COPIED,
    FORMATTED,
    LARGEST_INPUT,
    MOST_ITERATIONS,
    NODE,
    PATTERN_UNIT,
    SCALAR,
    SEARCHED_AT_ONCE,
    pattern_length,
)
from engine.kernel.expressions.syntax_tree import (
    Call,
    Constant,
    Listed,
    Loop,
    Mapped,
    Name,
    Select,
    Tree,
    is_binding,
)


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
    """Bound a text in which every possible occurrence of `old` is replaced."""
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


FREE = frozenset(
    {"_&&_", "_||_", "!_", "@not_strictly_false", "_[_]", "_-_", "_*_", "_/_", "_%_", "-_", "dyn", "_?_:_"}
)
"""Operations that look at no more than one number, or hand on what they are given."""
SCALARS = frozenset({"_&&_", "_||_", "!_", "@not_strictly_false", "_-_", "_*_", "_/_", "_%_", "-_"})
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
    if tree.function in FREE:
        return Most(NODE if tree.function in SCALARS else max((one.size for one in inner), default=0), cost)
    rule, found = RULES.get(full_name(tree), _USUAL), [one.size for one in inner]
    rule = rule if len(found) >= rule.least else _USUAL
    return Most(rule.size(found, tree), cost + rule.cost(found, tree))


def full_name(tree: Call) -> str:
    """Return `strings.quote` for a function of a namespace, which the tree keeps as a call on a name."""
    return (
        f"{tree.target.name}.{tree.function}"
        if is_namespaced(tree) and isinstance(tree.target, Name)
        else tree.function
    )


def is_namespaced(tree: Call) -> bool:
    """Return whether a call belongs to one of the library's own groups of functions, such as `math`."""
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
