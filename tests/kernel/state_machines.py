"""Write docs/state_machines.md from the status tables: `python -m tests.kernel.state_machines`."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from engine.kernel.transitions import INSTANCE_MOVES, RESULT_OF, STEP_MOVES, TASK_MOVES, VERSION_MOVES

PAGE = Path(__file__).parents[2] / "docs" / "state_machines.md"
HEAD = """# Status tables

Generated from engine/kernel/transitions.py (`python -m tests.kernel.state_machines`). A status without an arrow out of
it is terminal. An instance that waits is `running` and has waits: waiting is not a status.
"""
MACHINES: Mapping[str, Mapping[StrEnum, frozenset[StrEnum]]] = {
    "Template version": VERSION_MOVES,  # type: ignore[dict-item]
    "Instance": INSTANCE_MOVES,  # type: ignore[dict-item]
    "Step run": STEP_MOVES,  # type: ignore[dict-item]
    "Task": TASK_MOVES,  # type: ignore[dict-item]
}


def written() -> str:
    """Write the page."""
    results = "\n".join(f"| {status.value} | {result.value} |" for status, result in RESULT_OF.items())
    parts = [_machine(name, moves) for name, moves in MACHINES.items()]
    return "\n".join([HEAD, *parts, f"## Result of an instance\n\n| status | result |\n|---|---|\n{results}\n"])


def _machine(name: str, moves: Mapping[StrEnum, frozenset[StrEnum]]) -> str:
    rows = [f"| {status.value} | {_followers(followers)} |" for status, followers in moves.items()]
    arrows = [
        f"  {status.value} --> {follower.value}"
        for status, followers in moves.items()
        for follower in sorted(followers, key=lambda one: one.value)
    ]
    table = "\n".join(["| status | may become |", "|---|---|", *rows])
    return "\n".join([f"## {name}", "", table, "", "```mermaid", "stateDiagram-v2", *arrows, "```", ""])


def _followers(followers: frozenset[StrEnum]) -> str:
    return ", ".join(sorted(one.value for one in followers)) or "— (terminal)"


if __name__ == "__main__":
    PAGE.write_text(written())
