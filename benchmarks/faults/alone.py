"""Run one trial on servers of its own: `python -m benchmarks.faults.alone NAME SIZE` prints its outcome as JSON.

A trial may stop, flush or fill these servers.
"""

import json
import sys
import time

from benchmarks.faults.trial import find_trials
from benchmarks.private import private_servers


def main() -> None:
    """Start servers, migrate, run the trial, print what it showed."""
    name, size = sys.argv[1], int(sys.argv[2])
    with private_servers(functions="benchmarks.faults.ledger", careless=True):
        trial = find_trials()[name]
        began = time.monotonic()
        outcome = trial.run(size)
        figures = {**outcome.figures, "seconds": round(time.monotonic() - began)}
        sys.stdout.write(json.dumps({"figures": figures, "faults": outcome.faults}) + "\n")


if __name__ == "__main__":
    main()
