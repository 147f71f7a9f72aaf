"""manage.py verify_receipt FILE: check that the receipt of a case is as it was signed."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from engine.audit.signatures import UnusableKey, read_public_key
from engine.services.audit.receipts import BadReceipt, verify_receipt


class Command(BaseCommand):
    requires_system_checks = ()
    help = (
        "Check the signature of a case's receipt, without the database. Exit code 0 only when not a byte was changed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--key",
            type=Path,
            action="append",
            default=[],
            metavar="FILE",
            help="a public key to trust instead of ours: another platform's, or our old one; repeatable",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            said = verify_receipt(options["file"], keys=[read_public_key(file) for file in options["key"]])
        except (BadReceipt, UnusableKey) as error:
            raise CommandError(str(error)) from error
        case, audit = said["case"], said["audit"]
        self.stdout.write(
            f"As signed: {case['reference'] or case['id']} of {case['template']}, version {case['version']}."
        )
        self.stdout.write(
            f"Made {said['made_at']} by {said['by']}; {audit['events']} events, the last {audit['hash']}."
        )
        for one in said["decisions"]:
            self.stdout.write(f"{one['at']}  {one['step']}: {one['outcome']} by {one['by']}")
