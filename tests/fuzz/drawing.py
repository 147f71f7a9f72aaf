"""Read structured values out of bytes, so that any bytes are a test case and similar bytes are similar cases."""

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")

HOSTILE = (
    "", "x", "a.b", "ß", "é\u0301", "\u202eabc", "😀", "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>",
    "' onload='alert(1)", "]]>", "<!--", "-->", "&amp;", "&#0;", "\x00", "\x08", "\ud800", "\ufffe", "\uffff", "${start.a}",
    "${", "javascript:alert(1)", "%s", "%n", "{{7*7}}", "../../etc/passwd", "\r\n", "\t", "0", "-1", "1e999", "NaN",
    "true", "null", "[[[[", "{{{{", "'", "\\", "\\u0000", "a" * 300,
)  # fmt: skip
NUMBERS: tuple[float, ...] = (
    0, 1, -1, 2, 7, 64, 255, 1000, 2**31, 2**53, 2**53 + 1, -(2**63), 2**64, 10**30, 10**400, 0.1, -0.0, 1e-320,
    1e308, math.inf, -math.inf, math.nan,
)  # fmt: skip


class Draw:
    """Take values from bytes, front to back; what is asked for beyond the end is zero."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def is_over(self) -> bool:
        """Return whether every byte was used."""
        return self._at >= len(self._data)

    def byte(self) -> int:
        """Take one byte."""
        self._at += 1
        return self._data[self._at - 1] if self._at <= len(self._data) else 0

    def pick(self, options: Sequence[T]) -> T:
        """Take one of several."""
        return options[self.byte() % len(options)]

    def count(self, most: int) -> int:
        """Take a small number; none are left at the end of the bytes."""
        return 0 if self.is_over else self.byte() % (most + 1)

    def text(self) -> str:
        """Take a text: a hostile one, or some of the bytes as they are."""
        kind = self.byte()
        if kind < 128:
            return self.pick(HOSTILE)
        begin, self._at = self._at, self._at + kind % 24
        return self._data[begin : self._at].decode("utf-8", "replace")

    def rest(self) -> str:
        """Take everything that is left as one text, half characters included."""
        begin, self._at = self._at, len(self._data)
        return self._data[begin:].decode("utf-8", "surrogatepass" if _is_text(self._data[begin:]) else "replace")

    def number(self) -> float:
        """Take a number, large, broken or plain."""
        return self.pick(NUMBERS) if self.byte() < 96 else self.byte() * 256 + self.byte() - 32768

    def json(self, depth: int = 5) -> Any:
        """Take any JSON value, and some that are none."""
        makers: Sequence[Callable[[], Any]] = (
            lambda: None,
            lambda: self.byte() % 2 == 0,
            self.number,
            self.text,
            lambda: [self.json(depth - 1) for _ in range(self.count(4))] if depth else [],
            lambda: {self.text(): self.json(depth - 1) for _ in range(self.count(4))} if depth else {},
        )
        return self.pick(makers)()


def _is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True
