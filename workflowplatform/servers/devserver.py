"""Run PostgreSQL and Valkey alone in the foreground: ``python -m workflowplatform.servers.devserver --data DIR``."""

from __future__ import annotations

import argparse
import signal
import sys

from workflowplatform.servers import paths, running
from workflowplatform.servers.embedded import Embedded
from workflowplatform.servers.errors import CannotStart
from workflowplatform.servers.processes import STOPS, ProcessGroup


def main() -> int:
    """Start both, print their addresses, wait to be told to stop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="the data folder (default: var/)")
    parser.add_argument("--careless", action="store_true", help="fsync off: for tests only")
    options = parser.parse_args()
    try:
        return _serve(paths.data_folder(options.data), careless=options.careless)
    except CannotStart as refusal:
        sys.stderr.write(f"{refusal}\n")
        return 1


def _serve(data: paths.DataFolder, *, careless: bool) -> int:
    data.prepare()
    with running.own_folder(data):
        group = ProcessGroup()
        signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
        try:
            embedded = Embedded(group, data, careless=careless)
            embedded.start_missing({})
            addresses = embedded.addresses
            running.write_record(data, **addresses)
            sys.stdout.write("".join(f"{name}={value}\n" for name, value in addresses.items()))
            sys.stdout.flush()
            signal.sigwait(STOPS)
        finally:
            group.stop_all()
            running.forget_record(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
