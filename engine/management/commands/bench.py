"""Measure the engine: `manage.py bench [NAME…] [--short] [--write] [--json]`.

`manage.py bench peers` measures others side by side with it, `manage.py bench faults …` breaks it on purpose.
"""

import sys
from argparse import REMAINDER, ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError


class Command(BaseCommand):
    help = (
        "Measure W1, W2, W3, latency, scale, growth, memory and the inbox on private servers; compare with others side by side: "
        "bench peers; or run the fault trials: bench faults."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--short", action="store_true", help="a quick form for trying; its figures mean little")
        parser.add_argument("--write", action="store_true", help="keep the tables as docs/performance.md")
        parser.add_argument(
            "--json", action="store_true", help="print the figures as JSON; tables go to standard error"
        )
        parser.add_argument("names", nargs=REMAINDER, help="which ones (default: all), or faults and its own arguments")

    def handle(self, *args: Any, **options: Any) -> None:
        names = [name for name in options["names"] if not name.startswith("--")]
        flags = {name: options[name] or f"--{name}" in options["names"] for name in ("short", "write", "json")}
        if names[:1] == ["faults"]:
            sys.exit(_faults(options["names"][1:], flags))
        sys.exit(0 if _measure(names, flags) else 1)


def _measure(names: list[str], flags: dict[str, bool]) -> bool:
    """Run benchmarks. They are not part of the product, so a deployment may lack them."""
    try:
        from benchmarks.main import NAMES, PEERS, BenchmarkFailed, main  # noqa: PLC0415
        from benchmarks.peers.main import PeersMissing  # noqa: PLC0415
    except ModuleNotFoundError as missing:
        raise CommandError("The benchmarks are part of a checkout, not of a deployment.") from missing
    known = {name.lower(): name for name in (*NAMES, PEERS)}
    unknown = [name for name in names if name.lower() not in known]
    if unknown:
        raise CommandError(f"There is no benchmark {unknown[0]}; there are {', '.join(known.values())} and faults.")
    try:
        return main(
            [known[name.lower()] for name in names], short=flags["short"], write=flags["write"], as_json=flags["json"]
        )
    except (BenchmarkFailed, PeersMissing) as failure:
        raise CommandError(str(failure)) from failure


def _faults(arguments: list[str], flags: dict[str, bool]) -> int:
    """Hand over to the fault trials, which have arguments of their own."""
    from benchmarks.faults.main import main  # noqa: PLC0415

    asked = [f"--{name}" for name, given in flags.items() if given and f"--{name}" not in arguments]
    return int(main([*arguments, *asked]) or 0)
