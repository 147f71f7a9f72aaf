"""Columns that several lists share."""

from collections.abc import Callable
from typing import Any

from unfold.decorators import display

from engine.admin.descriptions import moment_words


def moment_column(field: str, description: str) -> Callable[[Any, Any], str]:
    """Make a column that shows a time in the reader's time zone and sorts by it."""

    @display(description=description, ordering=field)
    def column(page: Any, row: Any) -> str:
        return moment_words(getattr(row, field))

    return column
