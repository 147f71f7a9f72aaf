"""Rewrite the tree of an expression so that it asks its budget before every step that could be too large."""

from collections.abc import Callable, Mapping
from typing import Any

from engine.kernel.expressions.cost import FREE, SCALARS, full_name, is_namespaced
from engine.kernel.expressions.syntax_tree import (
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
    makes_list,
    walk,
)

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
        """Wrap a value so that it is counted before it is walked through or put somewhere: bound to a name, tested, passed on.

        It is only shown to the function. What goes through Python and back loses its kind: unsigned numbers, moments in lists.
        """
        inner = self._counted(tree)
        scalar = isinstance(tree, Call) and tree.function in SCALARS
        if scalar or (isinstance(tree, Constant) and function == "wf_use"):
            return inner
        return bound_to_name(
            inner, self._new, lambda name: [Call(self._new(), function, None, [name()]), name(), name()]
        )

    def select(self, tree: Select) -> Tree:
        return Select(tree.id, self._counted(tree.operand), tree.key, tree.only_asks)

    def call(self, tree: Call) -> Tree:
        name = full_name(tree)
        if name in FREE or (name.startswith("wf_") and name not in _TYPED):
            return self._called(tree, self._counted)
        if name in REPLACED and tree.target is not None:
            return Call(tree.id, f"wf_at_{name}", None, [self._counted(one) for one in tree.operands])
        if name in ("matches", "format"):
            return self._of_text(tree, name)
        if is_namespaced(tree):
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
