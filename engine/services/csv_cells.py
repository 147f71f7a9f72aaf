"""Write values into CSV so that no table program takes one for a formula."""

import csv
import json
import re
from collections.abc import Iterable
from typing import Any

BEGINS_A_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
A_NUMBER = re.compile(r"[+-]?\d[\d.,]*")


def safe_cell(value: Any) -> Any:
    """Return a value as a cell: what looks like the beginning of a formula, and is no number, gets a quote before it."""
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
    harmless = not isinstance(text, str) or not text.startswith(BEGINS_A_FORMULA) or A_NUMBER.fullmatch(text)
    return text if harmless else f"'{text}"


class _Echo:
    """Hand each written line on, instead of keeping it."""

    def write(self, line: str) -> str:
        return line


def csv_line(cells: Iterable[Any], separator: str = ",") -> str:
    """Return one line of safe cells."""
    return str(csv.writer(_Echo(), delimiter=separator).writerow([safe_cell(cell) for cell in cells]))
