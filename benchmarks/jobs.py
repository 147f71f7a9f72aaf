"""One RQ job a signal: what the drain is compared with."""

from unittest.mock import patch
from uuid import UUID

import django_rq

from engine.dispatch.call_pool import CallsUnderWay
from engine.dispatch.drain import Drained, _take
from engine.dispatch.rq import QUEUE, DrainWorker, make_worker


def apply_one(instance_id: str) -> None:
    """Apply what is due for one instance in a commit of its own."""
    _take(1, CallsUnderWay(), only=UUID(instance_id))


def enqueue_each(instance_ids: list[UUID]) -> None:
    """Enqueue a job for each."""
    queue = django_rq.get_queue(QUEUE)
    for instance_id in instance_ids:
        queue.enqueue(apply_one, str(instance_id), result_ttl=0)


def work_off() -> None:
    """Run all jobs on the product's own worker class, which here does not drain by itself."""
    worker: DrainWorker = make_worker("bench")
    with patch("engine.dispatch.rq.look", lambda *lent: Drained()):
        worker.work(burst=True, logging_level="ERROR")
