"""Run one benchmark on servers of its own: `python -m benchmarks.alone NAME [--short]` prints its report as one line of JSON.

The servers keep their promises here (fsync on): a commit costs what it costs in production.
"""

import sys
import time
from dataclasses import replace
from importlib import import_module

from benchmarks.private import private_servers


def main() -> None:
    """Start servers, migrate, measure, print."""
    name, short = sys.argv[1], "--short" in sys.argv
    with private_servers(functions="benchmarks.functions", careless=False):
        began = time.monotonic()
        report = import_module(f"benchmarks.{name.lower()}").run(short)
        sys.stdout.write(replace(report, seconds=time.monotonic() - began).to_json() + "\n")


if __name__ == "__main__":
    main()
