"""manage.py verify_audit: check every chain of the audit and name the first wrong row of each that is broken."""

import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from engine.audit.signatures import UnusableKey, read_public_key
from engine.services.audit.verification import verify_everything, verify_folds


class Command(BaseCommand):
    help = "Check that nobody changed, removed or added rows of the audit. Exit code 0 only when all is well."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true")
        parser.add_argument(
            "--fold", action="store_true", help="also fold each instance's chain and compare it with the tables"
        )

        parser.add_argument(
            "--against", type=Path, metavar="FILE", help="a root to compare with; else the newest in the data folder"
        )
        parser.add_argument("--key", type=Path, metavar="FILE", help="the public key of that root, if it is not ours")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            key = read_public_key(options["key"]) if options["key"] else None
        except UnusableKey as error:
            raise CommandError(str(error)) from error
        verdict = verify_everything(against=options["against"], key=key)
        if options["fold"]:
            verdict = replace(verdict, broken=(*verdict.broken, *verify_folds().broken))
        if options["json"]:
            self.stdout.write(json.dumps(asdict(verdict), default=str))
        else:
            for broken in verdict.broken:
                self.stdout.write(f"{broken.subject_kind} {broken.subject_id} row {broken.seq}: {broken.what}")
            if verdict.root:
                self.stdout.write(
                    f"Compared with the root of {verdict.root}; retention let {verdict.let_go} chains go since."
                )
            self.stdout.write(f"{verdict.rows} rows in {verdict.chains} chains, {len(verdict.broken)} broken.")
        if verdict.broken:
            sys.exit(1)
