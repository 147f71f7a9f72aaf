"""Keep the statements that raw psycopg plays where people can read them: benchmarks/sql, one file per transition.

They are the very statements of engine.runtime.commit. When those change, `python -m benchmarks.reviewed` writes the files anew,
and the difference is there to be reviewed; a test is red until then.
"""

import re
from pathlib import Path

from engine.runtime.commit import KEYS, PARTS, statement_of

FOLDER = Path(__file__).parent / "sql"
SHAPES: dict[str, set[str]] = {
    "start": {
        "new_instances", "new_runtimes", "new_waits", "new_tasks", "new_candidates", "new_events", "audit",
    },
    "claim": {"chains", "claimed_tasks", "new_events", "audit"},
    "complete": {
        "instances", "runtimes", "closed_waits", "closed_tasks", "closing_events", "own_receipts", "audit",
    },
    "timer": {"instances", "runtimes", "closed_waits", "signals_out", "receipts", "audit"},
}  # fmt: skip
"""The parts that each measured transition writes."""
OF_MANY = {"timer"}
"""The transitions that are measured in batches; the others are one person's act, with one row of each part that changes rows."""


def statement(name: str) -> str:
    """Compose the statement of a transition, one part per line."""
    parts = tuple(part for part in PARTS if part in SHAPES[name])
    single = frozenset() if name in OF_MANY else frozenset(KEYS)
    return (
        re.sub(r"\), (\w+) AS \(", r"),\n\1 AS (", statement_of(parts, single)).replace(") SELECT", ")\nSELECT", -1)
        + "\n"
    )


def kept(name: str) -> str:
    """Read the statement of a transition as it was reviewed."""
    return (FOLDER / f"{name}.sql").read_text()


def plain(text: str) -> str:
    """Leave line breaks aside."""
    return " ".join(text.split())


def main() -> None:
    """Write all files anew."""
    FOLDER.mkdir(exist_ok=True)
    for name in SHAPES:
        (FOLDER / f"{name}.sql").write_text(statement(name))


if __name__ == "__main__":
    main()
