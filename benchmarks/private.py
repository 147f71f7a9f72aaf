"""Run on private servers: a benchmark or a trial never touches a database in use, whatever the environment says."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workflowplatform.servers.embedded import Embedded
from workflowplatform.servers.paths import DataFolder
from workflowplatform.servers.processes import ProcessGroup

ENVIRONMENT = {
    "DJANGO_SETTINGS_MODULE": "workflowplatform.settings",
    "SECRET_KEY": "only-for-benchmarks-" + "k" * 50,
    "WORKFLOW_LOOPBACK": "1",
    "LOG_LEVEL": "ERROR",
}
UNHURRIED = {
    "WORKFLOW_TRANSACTION_SECONDS": "60",
    "WORKFLOW_TURN_SECONDS": os.environ.get("WORKFLOW_TURN_SECONDS", "60"),
    "WORKFLOW_SLICE_SECONDS": "60",  # a busy machine adds no InternalContinue that is recorded or accounted for
}


@contextmanager
def private_servers(*, functions: str, careless: bool, unhurried: bool = True) -> Iterator[None]:
    """Start servers, migrate, and leave nothing behind.

    Careless ones skip fsync: they do not measure what a commit costs. Unhurried, no slice is cut short by the time that it took.
    """
    scratch = Path(tempfile.mkdtemp(prefix="wf-bench-"))
    scratch.chmod(0o755)
    group = ProcessGroup()
    try:
        _prepare(group, scratch, functions, careless, UNHURRIED if unhurried else {})
        from workflowplatform.database.tenancy import crossing  # noqa: PLC0415

        with crossing("operator"):
            yield
    finally:
        group.stop_all()
        shutil.rmtree(scratch, ignore_errors=True)


def _prepare(group: ProcessGroup, scratch: Path, functions: str, careless: bool, more: dict[str, str]) -> None:
    data = DataFolder(scratch)
    data.prepare()
    (scratch / "static").mkdir(exist_ok=True)
    embedded = Embedded(group, data, careless=careless)
    embedded.start_missing({})
    own = {"WORKFLOW_DATA": str(scratch), "WORKFLOW_FUNCTIONS": f"engine.extensions.functions,{functions}"}
    os.environ.update(ENVIRONMENT | more | own | embedded.addresses)
    os.environ.pop("WORKFLOW_DISPATCHER", None)
    import django  # noqa: PLC0415  settings are read here, not before

    django.setup()
    from django.core.management import call_command  # noqa: PLC0415

    call_command("migrate", verbosity=0)
