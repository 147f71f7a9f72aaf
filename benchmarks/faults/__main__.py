"""Reach the trials without Django's commands: `python -m benchmarks.faults`."""

import sys

from benchmarks.faults.main import main

sys.exit(main())
