"""One RQ job for each signal: our own engine without its drain, as one would first build it on a job queue.

W2 only: an act of a person has no signal. Whatever falls due (a timer, a call, a retry) is enqueued as a job of its own, and
a stock `rq.SimpleWorker` (no fork for each job: the fastest that RQ has) takes the jobs one by one, each in a transaction of its
own. What is due is asked for all cases at once, and the worker ends when its queue is empty: neither costs it a signal's time.
"""

import time
from uuid import UUID

import django

from benchmarks.peers.client import Work, serve
from benchmarks.peers.ours import TENANT


def main() -> None:
    """Serve W2."""
    django.setup()
    from workflowplatform.database.tenancy import crossing  # noqa: PLC0415

    with crossing("operator"):
        serve({"w2": _work()})


def _work() -> Work:
    from benchmarks.bench_tenant import are_under_way, found_tenant  # noqa: PLC0415
    from benchmarks.jobs import enqueue_each, work_off  # noqa: PLC0415
    from engine.services.instances.lifecycle import start_instance  # noqa: PLC0415
    from workflowplatform.database.tenancy import acting_for  # noqa: PLC0415

    bench = found_tenant(TENANT)

    def w2(units: int) -> None:
        with acting_for(bench.tenant.pk):
            begun = [start_instance(actor=bench.starter, template="w2", input={}).instance.pk for _ in range(units)]
        while are_under_way(begun):
            due = _due(begun)
            if not due:
                time.sleep(0.002)
                continue
            enqueue_each(due)
            work_off()

    return w2


def _due(begun: list[UUID]) -> list[UUID]:
    from django.db import connection  # noqa: PLC0415

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT instance_id FROM wf_signals WHERE instance_id = ANY(%s) AND due_at <= clock_timestamp()", [begun]
        )
        return [row[0] for row in cursor.fetchall()]


if __name__ == "__main__":
    main()
