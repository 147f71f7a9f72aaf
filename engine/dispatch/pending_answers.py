"""Send answers that could be taken back until now, between batches of signals."""

import time
from uuid import UUID

import structlog

from engine.db.transactions import is_connection_lost
from engine.services.tasks.undo import due_answers, postpone, send_pending

log = structlog.get_logger(__name__)

EVERY = 0.25
"""Seconds between looks while signals keep a drain busy."""
ANSWERS_A_TURN = 20


class AnswerSender:
    """One drain's share in sending answers."""

    def __init__(self) -> None:
        self._next_look = 0.0

    def take_turn(self) -> int:
        """Send what is due, if it is time; return how many answers that were."""
        if time.monotonic() < self._next_look:
            return 0
        due = due_answers(ANSWERS_A_TURN)
        self._next_look = 0.0 if len(due) == ANSWERS_A_TURN else time.monotonic() + EVERY
        return sum(_send(pending_id) for pending_id in due)


def _send(pending_id: UUID) -> bool:
    try:
        return send_pending(pending_id=pending_id)
    except Exception:
        if is_connection_lost():
            raise
        log.exception("an answer could not be sent, trying again later", answer=str(pending_id))
        postpone(pending_id=pending_id)
        return False
