"""Run one trial on servers of its own: `python -m benchmarks.faults.alone NAME SIZE` prints its outcome as JSON.

A trial may stop, flush or fill what it stands on; nothing that somebody uses is ever touched, whatever the environment names.
"""

import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.faults.trial import find_trials
from workflowplatform.services.embedded import Embedded
from workflowplatform.services.paths import DataFolder
from workflowplatform.services.processes import Household

ENVIRONMENT = {
    "DJANGO_SETTINGS_MODULE": "workflowplatform.settings",
    "SECRET_KEY": "only-for-trials-" + "k" * 50,
    "WORKFLOW_LOOPBACK": "1",
    "WORKFLOW_FUNCTIONS": "engine.functions,benchmarks.faults.ledger",
    "WORKFLOW_SLICE_SECONDS": "60",  # a busy machine adds no InternalContinue that the accounting would see
    "LOG_LEVEL": "ERROR",
}


def main() -> None:
    """Start servers, migrate, run the trial, print what it showed."""
    name, size = sys.argv[1], int(sys.argv[2])
    scratch = Path(tempfile.mkdtemp(prefix="wf-trial-"))
    scratch.chmod(0o755)
    household = Household()
    try:
        _prepare(household, scratch)
        trial = find_trials()[name]
        began = time.monotonic()
        outcome = trial.run(size)
        figures = {**outcome.figures, "seconds": round(time.monotonic() - began)}
        sys.stdout.write(json.dumps({"figures": figures, "faults": outcome.faults}) + "\n")
    finally:
        household.stop_all()
        shutil.rmtree(scratch, ignore_errors=True)


def _prepare(household: Household, scratch: Path) -> None:
    data = DataFolder(scratch)
    data.prepare()
    (scratch / "static").mkdir(exist_ok=True)
    embedded = Embedded(household, data, careless=True)
    embedded.start_missing({})
    os.environ.update(ENVIRONMENT | {"WORKFLOW_DATA": str(scratch)} | embedded.addresses)
    import django  # noqa: PLC0415  settings are read here, not before

    django.setup()
    from django.core.management import call_command  # noqa: PLC0415

    call_command("migrate", verbosity=0)


if __name__ == "__main__":
    main()
