"""Find gaps and overlaps in decision tables.

Every literal and bound that the cells name cuts an input into regions; one value represents each region. All
combinations are tried, up to a limit: beyond it the table is not judged.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise, product
from typing import Any

from engine.kernel.language.reading.nodes import Outline, Reading
from engine.kernel.signals import Json

MOST_COMBINATIONS = 20_000
MOST_EFFORT = 400_000
"""How many rows are compared with combinations in all tables of one template."""
OTHER = "anything else"


def check_tables(reading: Reading) -> None:
    """Report where no row fits, where several do, and which rows never do."""
    effort = [MOST_EFFORT]
    for step in reading.steps.values():
        table = step.spec.get("decide")
        if isinstance(table, dict) and "rows" in table and "inputs" in table and "${" not in str(table["rows"]):
            _check_table(reading, step, table, effort)


def _check_table(reading: Reading, step: Outline, table: Mapping[str, Json], effort: list[int]) -> None:
    inputs = list(table["inputs"]) if isinstance(table["inputs"], dict) else []
    for row in table["rows"]:
        for name in row["when"]:
            if name not in inputs:
                reading.error(step.node, "unknown_input", f"the table has no input `{name}`", step.path)
                return
    values = [_enumerated(reading, table["inputs"][name]) or list(_values(table["rows"], name)) for name in inputs]
    combinations = 1
    for found in values:
        combinations *= len(found)
    effort[0] -= combinations * len(table["rows"])
    if combinations <= MOST_COMBINATIONS and effort[0] >= 0:
        _judge(reading, step, table, inputs, values)


def _enumerated(reading: Reading, given: Json) -> list[Json]:
    """Return the values that the start form allows, where an input is one of its choices."""
    field = re.fullmatch(r"\$\{\s*start\.(\w+)\s*\}", given) if isinstance(given, str) else None
    properties = reading.input_schema.get("properties", {})
    found = properties.get(field.group(1)) if field is not None else None
    return list(found["enum"]) if isinstance(found, dict) and isinstance(found.get("enum"), list) else []


def _judge(reading: Reading, step: Outline, table: Mapping[str, Json], inputs: list[str], values: list[Any]) -> None:
    first_hits: set[int] = set()
    gap: dict[str, Json] | None = None
    overlap: tuple[dict[str, Json], list[int]] | None = None
    for combination in product(*values):
        given = dict(zip(inputs, combination, strict=True))
        fitting = [number for number, row in enumerate(table["rows"]) if _fits(row["when"], given)]
        first_hits.update(fitting if table["hit"] != "first" else fitting[:1])
        gap = gap or (given if not fitting else None)
        overlap = overlap or ((given, fitting) if len(fitting) > 1 else None)
    _tell(reading, step, table, gap, overlap, [n for n in range(len(table["rows"])) if n not in first_hits])


def _tell(
    reading: Reading,
    step: Outline,
    table: Mapping[str, Json],
    gap: dict[str, Json] | None,
    overlap: tuple[dict[str, Json], list[int]] | None,
    unused: list[int],
) -> None:
    if gap is not None and "default" not in table and table["hit"] != "collect":
        reading.warn(step.node, "table_gap", f"no row fits {_spelled(gap)}", step.path, "add a row or a default")
    if overlap is not None and table["hit"] == "unique":
        rows = " and ".join(str(number + 1) for number in overlap[1][:2])
        reading.error(step.node, "table_overlap", f"rows {rows} both fit {_spelled(overlap[0])}", step.path)
    for number in unused:
        reading.warn(step.node, "table_row_unused", f"row {number + 1} never decides", step.path)


def _spelled(given: Mapping[str, Json]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in given.items())


def _values(rows: list[Mapping[str, Any]], name: str) -> Iterator[Json]:
    """Return one value for each region of an input."""
    literals = [literal for row in rows if name in row["when"] for literal in _literals(row["when"][name])]
    numbers = sorted({one for one in literals if isinstance(one, (int, float)) and not isinstance(one, bool)})
    others = [one for place, one in enumerate(literals) if not _is_number(one) and one not in literals[:place]]
    yield from others
    if numbers:
        yield from _around(numbers)
    elif not others or not all(isinstance(one, bool) for one in others) or len(others) < 2:
        yield OTHER


def _is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _around(numbers: list[Any]) -> Iterator[Json]:
    yield numbers[0] - 1
    for low, high in pairwise(numbers):
        yield low
        yield (low + high) / 2
    yield numbers[-1]
    yield numbers[-1] + 1


def _literals(cell: Json) -> Iterator[Json]:
    if isinstance(cell, list):
        yield from cell
    elif isinstance(cell, dict):
        for limit in cell.values():
            yield from _literals(limit)
    else:
        yield cell


def _fits(cells: Mapping[str, Json], given: Mapping[str, Json]) -> bool:
    return all(_cell(cell, given[name]) for name, cell in cells.items())


def _cell(cell: Json, value: Json) -> bool:
    if isinstance(cell, list):
        return any(_cell(one, value) for one in cell)
    if not isinstance(cell, dict):
        return cell == value and isinstance(cell, bool) == isinstance(value, bool)
    return all(_bound(word, limit, value) for word, limit in cell.items())


def _bound(word: str, limit: Json, value: Json) -> bool:
    if word == "not":
        return not _cell(limit, value)
    if not (_is_number(limit) and _is_number(value)):
        return False
    return bool({"lt": value < limit, "le": value <= limit, "gt": value > limit, "ge": value >= limit}[word])
