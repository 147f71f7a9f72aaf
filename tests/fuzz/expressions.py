"""Build expressions out of bytes: mostly well-formed, of every function and operator, some of them cut or broken."""

from collections.abc import Callable, Sequence

from engine.kernel.expressions.functions import FUNCTIONS
from tests.fuzz.drawing import Draw

ATOMS = (
    "start", "start.a", "start.list", "start.text", "state.n", "item", "1", "-7", "2.5", "0", "9223372036854775807",
    "'x'", "'a,b'", "\"%s %d\"", "'[a-z]+'", "'((a*)*)*'", "''", "true", "null", "[]", "{}", "now", "[1, 2, 3]", "b'x'",
    "{'k': start.text}", "1u", "'%.9f'", "'%.999999f'",
)  # fmt: skip
BINARY = ("+", "-", "*", "/", "%", "==", "!=", "<", ">=", "&&", "||", "in")
METHODS = (
    "contains({})", "startsWith({})", "endsWith({})", "matches({})", "size()", "replace({}, {})", "replace({}, {}, 3)",
    "split({})", "split({}, 2)", "join({})", "join()", "format([{}, {}])", "substring(0)", "substring({}, {})",
    "charAt({})", "indexOf({})", "lastIndexOf({})", "lowerAscii()", "upperAscii()", "trim()", "reverse()",
    "getFullYear()", "map(x, {})", "filter(x, {})", "all(x, {})", "exists(x, {})", "exists_one(x, {})",
    "map(x, x == {}, {})",
)  # fmt: skip
CALLS = (
    "size({})", "string({})", "int({})", "uint({})", "double({})", "bytes({})", "bool({})", "type({})", "dyn({})",
    "timestamp({})", "duration({})", "matches({}, {})", "base64.encode({})", "base64.decode({})", "math.greatest({}, {})",
    "math.abs({})", "math.bitShiftLeft({}, {})", "strings.quote({})", "cel.bind(x, {}, {})", "has(start.a)", "min({}, {})",
    "max({}, {})", *(f"{name}({', '.join(['{}'] * len(forms[0]))})" for name, (_, forms, _) in FUNCTIONS.items()),
)  # fmt: skip


def expression(draw: Draw, depth: int = 5) -> str:
    """Take one expression."""
    if depth <= 0 or draw.is_over:
        return draw.pick((*ATOMS, "x"))
    makers: Sequence[Callable[[], str]] = (
        lambda: draw.pick((*ATOMS, "x")),
        lambda: f"({expression(draw, depth - 1)} {draw.pick(BINARY)} {expression(draw, depth - 1)})",
        lambda: f"{expression(draw, depth - 1)}.{_filled(draw, draw.pick(METHODS), depth)}",
        lambda: _filled(draw, draw.pick(CALLS), depth),
        lambda: f"[{', '.join(expression(draw, depth - 1) for _ in range(draw.count(4)))}]",
        lambda: f"{{'a': {expression(draw, depth - 1)}, {expression(draw, depth - 1)}: 1}}",
        lambda: f"({expression(draw, depth - 1)} ? {expression(draw, depth - 1)} : {expression(draw, depth - 1)})",
        lambda: f"{expression(draw, depth - 1)}[{expression(draw, depth - 1)}]",
        lambda: f"!{expression(draw, depth - 1)}",
        lambda: f"'{draw.text()}'",
        draw.text,
    )
    return draw.pick(makers)()


def _filled(draw: Draw, form: str, depth: int) -> str:
    parts = form.split("{}")
    return parts[0] + "".join(expression(draw, depth - 1) + part for part in parts[1:])
