"""Viewflow, the workflow engine for Django that is used most: `python -m benchmarks.peers.viewflow_peer`.

W1 is start → a task for people with a permission → end. Each act does what Viewflow's own views do (create, assign, execute),
in a transaction, with the lock that its documentation recommends for PostgreSQL; the task is read by its number, as a request
would. In its favour: the seven automatic steps are plain Python inside the acts, while each would be a node and a row of
Viewflow's own; no audit, no versions of definitions, no HTTP. W2 is not played: Viewflow has no retries without Celery.
"""

from types import SimpleNamespace
from typing import Any

import django
from django.conf import settings

from benchmarks.peers.client import Place, serve

APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "viewflow",
    "viewflow.workflow",
    "benchmarks.peers.viewflow_peer",
]
DATABASE = {"ENGINE": "django.db.backends.postgresql", "CONN_MAX_AGE": None}


def main() -> None:
    """Set Django up and serve W1."""
    place = Place.told()
    settings.configure(
        SECRET_KEY="only-for-benchmarks",  # noqa: S106
        INSTALLED_APPS=APPS,
        DATABASES={"default": DATABASE | {"HOST": place.host, "USER": place.user, "NAME": place.database}},
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        USE_TZ=True,
        VIEWFLOW={"AUTOREGISTER": False},
    )
    django.setup()
    if place.number == 0:
        _prepare()
    serve({"w1": _w1()})


def _prepare() -> None:
    from django.contrib.auth.models import Permission, User  # noqa: PLC0415
    from django.contrib.contenttypes.models import ContentType  # noqa: PLC0415
    from django.core.management import call_command  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    User.objects.get_or_create(username="starter")
    clerk, _ = User.objects.get_or_create(username="clerk")
    kind, _ = ContentType.objects.get_or_create(app_label="viewflow_peer", model="approval")
    clerk.user_permissions.add(Permission.objects.get_or_create(codename="review", content_type=kind)[0])


def _w1() -> Any:
    from django.contrib.auth.models import User  # noqa: PLC0415
    from viewflow.workflow.models import Task  # noqa: PLC0415
    from viewflow.workflow.token import Token  # noqa: PLC0415

    from benchmarks.peers.viewflow_peer.flows import Approval  # noqa: PLC0415

    starter, clerk = User.objects.get(username="starter"), User.objects.get(username="clerk")

    def start() -> int:
        node = Approval.start
        begun = node.activation_class.create(node, None, Token("start"))
        begun.start(SimpleNamespace(user=starter))
        begun.process.data = {"amount": 1200, **_figures(1200)}
        begun.execute()
        return int(Task.objects.get(process=begun.process, flow_task=Approval.review).pk)

    def claim(number: int) -> None:
        with Task.objects.get(pk=number).activation() as task:
            assert task.flow_task.can_assign(clerk, task.task)
            task.assign(clerk)

    def complete(number: int) -> None:
        with Task.objects.get(pk=number).activation() as task:
            assert task.flow_task.can_execute(clerk, task.task)
            task.start(SimpleNamespace(user=clerk))
            task.process.data |= {"outcome": "approve", "note": "ok", "approved": True, "closed": True}
            task.process.save()
            task.execute()

    def w1(units: int) -> None:
        for _ in range(units):
            number = start()
            claim(number)
            complete(number)

    return w1


def _figures(amount: int) -> dict[str, Any]:
    net = amount * 0.8
    return {"net": net, "tax": amount - net, "kind": "request", "large": amount > 1000}


if __name__ == "__main__":
    main()
