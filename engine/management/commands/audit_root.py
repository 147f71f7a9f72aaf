"""manage.py audit_root: sign where all chains of the audit end now."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from engine.audit.signatures import UnusableKey
from engine.services.audit.roots import BadRoot, make_root


class Command(BaseCommand):
    help = "Make a signed root over all chains of the audit now. Workers make one a day by themselves."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print the signed statement, to be kept elsewhere")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            root = make_root()
        except (BadRoot, UnusableKey, OSError) as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            kept = {"statement": root.statement, "signature": root.signature, "public_key": root.public_key}
            self.stdout.write(json.dumps(kept, sort_keys=True))
        else:
            self.stdout.write(f"{root.chains} chains, digest {root.digest}, signed in {root.file}.")
