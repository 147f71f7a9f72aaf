"""Ours: the services as REST and the inbox call them, and a worker's drain.

W1 is three calls of services in three transactions, for a template with five assignments and a branch (benchmarks/workflows.py),
with every check, constraint, row of audit and row-level security that production has. W2 is started by the service too, one
transaction each; then this process drains, as a worker does, until its cases are over.
"""

import time

import django

from benchmarks.peers.client import Work, serve

TENANT = "bench"


def main() -> None:
    """Serve W1 and W2."""
    django.setup()
    from workflowplatform.database.tenancy import crossing  # noqa: PLC0415

    with crossing("operator"):
        serve(_works())


def _works() -> dict[str, Work]:
    from benchmarks.bench_tenant import are_under_way, found_tenant  # noqa: PLC0415
    from engine.dispatch.call_pool import CallsUnderWay  # noqa: PLC0415
    from engine.dispatch.drain import Drained, drain_once  # noqa: PLC0415
    from engine.dispatch.fairness import Turns  # noqa: PLC0415
    from engine.services.instances.lifecycle import start_instance  # noqa: PLC0415
    from engine.services.tasks.lifecycle import claim_task, complete_task  # noqa: PLC0415
    from workflowplatform.database.tenancy import acting_for  # noqa: PLC0415

    bench = found_tenant(TENANT)
    calls, turns = CallsUnderWay(), Turns()

    def w1(units: int) -> None:
        with acting_for(bench.tenant.pk):
            for _ in range(units):
                task = start_instance(actor=bench.starter, template="w1", input={"amount": 1200}).tasks[0].pk
                claim_task(actor=bench.clerk, task_id=task)
                complete_task(actor=bench.clerk, task_id=task, outcome="approve", values={"note": "ok"})

    def w2(units: int) -> None:
        with acting_for(bench.tenant.pk):
            begun = [start_instance(actor=bench.starter, template="w2", input={}).instance.pk for _ in range(units)]
        while are_under_way(begun):
            if not drain_once(Drained(), calls, turns=turns):
                time.sleep(0.002)
        calls.settle_all()  # those of other clients' cases: nobody else could deliver them before their deadline

    return {"w1": w1, "w2": w2}


if __name__ == "__main__":
    main()
