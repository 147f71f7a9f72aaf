"""Run one benchmark on servers of its own: `python -m benchmarks.alone NAME [--short]` prints its report as one line of JSON.

Never the product's database, whatever the environment names. The servers keep their promises here (fsync on): a commit costs
what it costs in production.
"""

import os
import shutil
import sys
import tempfile
import time
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from workflowplatform.services.embedded import Embedded
from workflowplatform.services.paths import DataFolder
from workflowplatform.services.processes import Household

ENVIRONMENT = {
    "DJANGO_SETTINGS_MODULE": "workflowplatform.settings",
    "SECRET_KEY": "only-for-benchmarks-" + "k" * 50,
    "WORKFLOW_LOOPBACK": "1",
    "WORKFLOW_FUNCTIONS": "engine.functions,benchmarks.functions",
    "WORKFLOW_SLICE_SECONDS": "60",  # a busy machine adds no InternalContinue that a recording would hold
    "LOG_LEVEL": "ERROR",
}


def main() -> None:
    """Start servers, migrate, measure, print."""
    name, short = sys.argv[1], "--short" in sys.argv
    scratch = Path(tempfile.mkdtemp(prefix="wf-bench-"))
    scratch.chmod(0o755)
    household = Household()
    try:
        _prepare(household, scratch)
        began = time.monotonic()
        report = import_module(f"benchmarks.{name.lower()}").run(short)
        sys.stdout.write(replace(report, seconds=time.monotonic() - began).to_json() + "\n")
    finally:
        household.stop_all()
        shutil.rmtree(scratch, ignore_errors=True)


def _prepare(household: Household, scratch: Path) -> None:
    data = DataFolder(scratch)
    data.prepare()
    (scratch / "static").mkdir(exist_ok=True)
    embedded = Embedded(household, data)
    embedded.start_missing({})
    os.environ.update(ENVIRONMENT | {"WORKFLOW_DATA": str(scratch)} | embedded.addresses)
    os.environ.pop("WORKFLOW_DISPATCHER", None)
    import django  # noqa: PLC0415  settings are read here, not before

    django.setup()
    from django.core.management import call_command  # noqa: PLC0415

    call_command("migrate", verbosity=0)


if __name__ == "__main__":
    main()
