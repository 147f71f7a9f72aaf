"""One RQ job per signal: what the drain is compared with."""

from uuid import UUID

import django_rq
from rq import Queue, SimpleWorker
from rq.serializers import JSONSerializer

from engine.dispatch.call_pool import CallsUnderWay
from engine.dispatch.drain import _take_and_begin
from engine.dispatch.fairness import Turn
from workflowplatform.database.tenancy import crossing

QUEUE = "one_job_per_signal"
"""Not the product's queue: its workers drop whatever they find there that is not theirs."""


def apply_one(instance_id: str) -> None:
    """Apply what is due for one instance in a commit of its own; make its call, if one is due, and deliver what came of it."""
    calls = CallsUnderWay()
    with crossing("drain"):
        _take_and_begin(calls, UUID(instance_id), turn=Turn(instances=1))
        calls.settle_all()


def _queue() -> Queue:
    return Queue(QUEUE, connection=django_rq.get_connection("default"), serializer=JSONSerializer)


def enqueue_each(instance_ids: list[UUID]) -> None:
    """Enqueue a job for each."""
    queue = _queue()
    for instance_id in instance_ids:
        queue.enqueue(apply_one, str(instance_id), result_ttl=0)


def work_off() -> None:
    """Run all jobs on a stock worker of RQ that does not fork for each: the fastest that it has."""
    queue = _queue()
    worker = SimpleWorker([queue], connection=queue.connection, serializer=JSONSerializer)
    worker.log_job_description = False
    worker.work(burst=True, logging_level="ERROR")
