"""Run bulk operations between batches of signals, a share at a time, so that neither waits for the other to end."""

import time
from uuid import UUID

from engine.services.instances.bulk_operations import do_next_row, open_bulk_acts

ROWS_A_TURN = 10
EVERY = 1.0
"""Seconds between looks for acts while signals keep a drain busy; while there are rows to do, every turn."""


class BulkRunner:
    """One drain's share in the acts over many rows."""

    def __init__(self) -> None:
        self._next_look = 0.0

    def take_turn(self) -> int:
        """Do some rows of every open act, if it is time; return how many."""
        if time.monotonic() < self._next_look:
            return 0
        done = sum(_share(act_id) for act_id in open_bulk_acts())
        self._next_look = 0.0 if done else time.monotonic() + EVERY
        return done


def _share(act_id: UUID) -> int:
    for count in range(ROWS_A_TURN):
        if not do_next_row(act_id=act_id):
            return count
    return ROWS_A_TURN
