"""manage.py verify_audit: check every chain of the audit and name the first wrong row of each that is broken."""

import json
import sys
from dataclasses import asdict, replace
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from engine.services.auditing import verify_everything, verify_folds


class Command(BaseCommand):
    help = "Check that nobody changed, removed or added rows of the audit. Exit code 0 only when all is well."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true")
        parser.add_argument(
            "--fold", action="store_true", help="also fold each instance's chain and compare it with the tables"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        verdict = verify_everything()
        if options["fold"]:
            verdict = replace(verdict, broken=(*verdict.broken, *verify_folds().broken))
        if options["json"]:
            self.stdout.write(json.dumps(asdict(verdict), default=str))
        else:
            for broken in verdict.broken:
                self.stdout.write(f"{broken.subject_kind} {broken.subject_id} row {broken.seq}: {broken.what}")
            self.stdout.write(f"{verdict.rows} rows in {verdict.chains} chains, {len(verdict.broken)} broken.")
        if verdict.broken:
            sys.exit(1)
