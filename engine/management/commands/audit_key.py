"""manage.py audit_key: show which keys the audit uses, and accept rows that a process of the release before wrote without one."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from engine.audit.chain import Act, keyring, record
from engine.audit.signatures import UnusableKey, public_key_pem
from engine.audit.unkeyed_rows import accept_plain_rows
from workflowplatform.accounts.actor import operator_actor
from workflowplatform.accounts.models import Tenant


class Command(BaseCommand):
    help = "Print the public key that verifies roots and exports; accept rows without a key once, after the upgrade to 0.2.0."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("what", nargs="?", choices=("show", "accept_plain"), default="show")
        parser.add_argument("--reason", default="", help="`accept_plain`: why; written to the tenants' audit")

    def handle(self, *args: Any, **options: Any) -> None:
        getattr(self, f"_{options['what']}")(options["reason"])

    def _show(self, reason: str) -> None:
        ring = keyring()
        others = ", ".join(sorted(ring.known.keys() - {ring.current.id}))
        self.stdout.write(
            f"Rows are hashed with key {ring.current.id}" + (f"; also known: {others}." if others else ".")
        )
        try:
            self.stdout.write(public_key_pem().rstrip())
        except UnusableKey as error:
            raise CommandError(str(error)) from error

    def _accept_plain(self, reason: str) -> None:
        if not reason:
            raise CommandError("Give a reason: --reason TEXT.")
        with transaction.atomic():
            found = accept_plain_rows()
            for tenant in Tenant.objects.filter(pk__in={row[0] for row in found}):
                count = sum(row[0] == tenant.pk for row in found)
                record(
                    tenant,
                    Act("accept_plain_audit", cause=reason, new={"chains": count}),
                    actor=operator_actor(tenant.pk),
                )
        self.stdout.write(f"Plain rows of {len(found)} chains accepted.")
