"""Read and write the expression library's own tree, as its serialised form has it (cel.expr.ParsedExpr).

Only what the costs of an expression need is taken apart; everything else is kept as the bytes that it came in.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

_CONST, _IDENT, _SELECT, _CALL, _LIST, _STRUCT, _LOOP = 3, 4, 5, 6, 7, 8, 9
_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_STRING, _BYTES = 6, 7

Fields = list[tuple[int, int, int | bytes]]
"""(number, wire type, value) of each field, in their order."""


@dataclass(slots=True)
class Tree:
    """One node of an expression."""

    id: int = 0


@dataclass(slots=True)
class Constant(Tree):
    raw: bytes = b""
    text: str | None = None
    length: int = 0


@dataclass(slots=True)
class Name(Tree):
    name: str = ""


@dataclass(slots=True)
class Select(Tree):
    operand: Tree = field(default_factory=Tree)
    key: bytes = b""
    only_asks: bool = False


@dataclass(slots=True)
class Call(Tree):
    function: str = ""
    target: Tree | None = None
    arguments: list[Tree] = field(default_factory=list)

    @property
    def operands(self) -> list[Tree]:
        """Return what it is called on and with."""
        return [*([self.target] if self.target is not None else []), *self.arguments]


@dataclass(slots=True)
class Listed(Tree):
    items: list[Tree] = field(default_factory=list)


@dataclass(slots=True)
class Mapped(Tree):
    """An object or a message; an entry is (id, key, value), the key a tree or the bytes of a field's name."""

    message: bytes = b""
    entries: list[tuple[int, "Tree | bytes", Tree]] = field(default_factory=list)


@dataclass(slots=True)
class Loop(Tree):
    """What the macros become; `cel.bind` is one over nothing."""

    variable: str = ""
    over: Tree = field(default_factory=Tree)
    kept: str = ""
    begin: Tree = field(default_factory=Tree)
    while_: Tree = field(default_factory=Tree)
    step: Tree = field(default_factory=Tree)
    result: Tree = field(default_factory=Tree)


def read_tree(serialized: bytes) -> tuple[Tree, Fields, Fields]:
    """Return an expression's tree, and the two envelopes around it for `write_tree`."""
    outer = list(_fields(serialized))
    inner = list(_fields(_bytes(outer, 2)))
    return _read(_bytes(inner, 2)), outer, inner


def write_tree(tree: Tree, outer: Fields, inner: Fields) -> bytes:
    """Serialise a tree in the envelopes of the one that it was made of."""
    body = b"".join(_field(number, _write(tree) if number == 2 else value) for number, _, value in inner)
    return b"".join(_field(number, body if number == 2 else value) for number, _, value in outer)


# Walking and changing


def walk(tree: Tree) -> list[Tree]:
    """List a tree's nodes."""
    found, waiting = [], [tree]
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting.extend(_parts_of(one))
    return found


def _parts_of(tree: Tree) -> list[Tree]:
    if isinstance(tree, Call):
        return tree.operands
    if isinstance(tree, Select):
        return [tree.operand]
    if isinstance(tree, Listed):
        return tree.items
    if isinstance(tree, Mapped):
        return [part for _, key, value in tree.entries for part in (key, value) if isinstance(part, Tree)]
    return [tree.over, tree.begin, tree.while_, tree.step, tree.result] if isinstance(tree, Loop) else []


def is_binding(tree: Loop) -> bool:
    """Return whether a loop goes over nothing, which is how a name is bound."""
    return isinstance(tree.over, Listed) and not tree.over.items and tree.variable.startswith("#")


_FALSE = b"\x10\x00"
"""The constant false, as the serialised form has it."""


def bound_to_name(value: Tree, new_id: Callable[[], int], choice: Callable[[Callable[[], Tree]], list[Tree]]) -> Tree:
    """Bind a value to a name of its own and choose with it: `choice` gives condition, then and else; it is computed once."""
    name = f"@own{new_id()}"
    result = Call(new_id(), "_?_:_", None, choice(lambda: Name(new_id(), name)))
    return binding(name, value, result, new_id)


def binding(name: str, value: Tree, result: Tree, new_id: Callable[[], int]) -> Tree:
    """Compute something under one more name, as `cel.bind` does: a loop over nothing."""
    nothing, never = Listed(new_id(), []), Constant(new_id(), _FALSE)
    return Loop(new_id(), "#unused", nothing, name, value, never, Name(new_id(), name), result)


def makes_list(tree: Tree) -> bool:
    """Return whether this is a loop of `map` or `filter` over something that is computed."""
    if not isinstance(tree, Loop) or not isinstance(tree.begin, Listed) or is_binding(tree):
        return False
    return isinstance(tree.result, Name) and tree.result.name == tree.kept and not isinstance(tree.over, Listed)


def order_loops(tree: Tree) -> bool:
    """Make loops that build a list visit an object's keys in order: the library has another one in every process.

    Returns whether anything was changed. Over a list nothing changes but that its type is asked for.
    """
    nodes = walk(tree)
    ids = itertools.count(max(one.id for one in nodes) + 1)
    loops = [one for one in nodes if isinstance(one, Loop) and makes_list(one)]
    for loop in loops:
        loop.over = bound_to_name(loop.over, ids.__next__, partial(_keys_in_order, ids.__next__))
    return bool(loops)


def _keys_in_order(new_id: Callable[[], int], name: Callable[[], Tree]) -> list[Tree]:
    kind = Call(new_id(), "type", None, [name()])
    is_object = Call(new_id(), "_==_", None, [kind, Name(new_id(), "map")])
    return [is_object, Call(new_id(), "wf_in_order", None, [name()]), name()]


# Reading


def _fields(data: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, at = _varint(data, at)
            yield number, wire, value
            continue
        size, at = _varint(data, at) if wire == _LENGTH else ({_FIXED64: 8, _FIXED32: 4}[wire], at)
        yield number, wire, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _bytes(fields: Fields, number: int) -> bytes:
    return next((value for found, _, value in fields if found == number and isinstance(value, bytes)), b"")


def _text(fields: Fields, number: int) -> str:
    return _bytes(fields, number).decode()


def _all(fields: Fields, number: int) -> list[bytes]:
    return [value for found, _, value in fields if found == number and isinstance(value, bytes)]


def _number(fields: Fields, number: int) -> int:
    return next((value for found, _, value in fields if found == number and isinstance(value, int)), 0)


def _read(data: bytes) -> Tree:
    fields = list(_fields(data))
    own = _number(fields, 2)
    for number, _, value in fields:
        if number in _READ and isinstance(value, bytes):
            made = _READ[number](value)
            made.id = own
            return made
    raise ValueError("an expression of a kind that is not known")


def _read_constant(data: bytes) -> Tree:
    fields = list(_fields(data))
    kind = fields[0][0] if fields else 0
    raw = _bytes(fields, kind) if kind in (_STRING, _BYTES) else b""
    return Constant(raw=data, text=raw.decode() if kind == _STRING else None, length=len(raw))


def _read_select(data: bytes) -> Tree:
    fields = list(_fields(data))
    return Select(operand=_read(_bytes(fields, 1)), key=_bytes(fields, 2), only_asks=bool(_number(fields, 3)))


def _read_call(data: bytes) -> Tree:
    fields = list(_fields(data))
    target = _all(fields, 1)
    return Call(
        function=_text(fields, 2),
        target=_read(target[0]) if target else None,
        arguments=[_read(one) for one in _all(fields, 3)],
    )


def _read_mapped(data: bytes) -> Tree:
    fields = list(_fields(data))
    return Mapped(message=_bytes(fields, 1), entries=[_read_entry(one) for one in _all(fields, 2)])


def _read_entry(data: bytes) -> tuple[int, Tree | bytes, Tree]:
    fields = list(_fields(data))
    keys = _all(fields, 3)
    return _number(fields, 1), _read(keys[0]) if keys else _bytes(fields, 2), _read(_bytes(fields, 4))


def _read_loop(data: bytes) -> Tree:
    fields = list(_fields(data))
    over, begin, while_, step, result = (_read(_bytes(fields, number)) for number in (2, 4, 5, 6, 7))
    return Loop(
        variable=_text(fields, 1), over=over, kept=_text(fields, 3), begin=begin, while_=while_, step=step,
        result=result,
    )  # fmt: skip


_READ = {
    _CONST: _read_constant,
    _IDENT: lambda data: Name(name=_text(list(_fields(data)), 1)),
    _SELECT: _read_select,
    _CALL: _read_call,
    _LIST: lambda data: Listed(items=[_read(one) for one in _all(list(_fields(data)), 1)]),
    _STRUCT: _read_mapped,
    _LOOP: _read_loop,
}


# Writing


def _field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return _spelled(number << 3 | _VARINT) + _spelled(value)
    return _spelled(number << 3 | _LENGTH) + _spelled(len(value)) + value


def _spelled(value: int) -> bytes:
    spelled = bytearray()
    while value > 127:
        spelled.append(value & 127 | 128)
        value >>= 7
    spelled.append(value)
    return bytes(spelled)


def _write(tree: Tree) -> bytes:
    number, body = _WRITE[type(tree)](tree)
    return _field(2, tree.id) + _field(number, body)


def _write_call(tree: Call) -> bytes:
    target = _field(1, _write(tree.target)) if tree.target is not None else b""
    return target + _field(2, tree.function.encode()) + b"".join(_field(3, _write(one)) for one in tree.arguments)


def _write_mapped(tree: Mapped) -> bytes:
    entries = (
        _field(1, own)
        + (_field(2, key) if isinstance(key, bytes) else _field(3, _write(key)))
        + _field(4, _write(value))
        for own, key, value in tree.entries
    )
    return (_field(1, tree.message) if tree.message else b"") + b"".join(_field(2, entry) for entry in entries)


def _write_loop(tree: Loop) -> bytes:
    parts = (tree.variable.encode(), _write(tree.over), tree.kept.encode(), _write(tree.begin), _write(tree.while_))
    return b"".join(
        _field(number, part) for number, part in enumerate((*parts, _write(tree.step), _write(tree.result)), 1)
    )


_WRITE: Mapping[type[Tree], Callable[[Any], tuple[int, bytes]]] = {
    Constant: lambda tree: (_CONST, tree.raw),
    Name: lambda tree: (_IDENT, _field(1, tree.name.encode())),
    Select: lambda tree: (
        _SELECT,
        _field(1, _write(tree.operand)) + _field(2, tree.key) + (_field(3, 1) if tree.only_asks else b""),
    ),
    Call: lambda tree: (_CALL, _write_call(tree)),
    Listed: lambda tree: (_LIST, b"".join(_field(1, _write(item)) for item in tree.items)),
    Mapped: lambda tree: (_STRUCT, _write_mapped(tree)),
    Loop: lambda tree: (_LOOP, _write_loop(tree)),
}
