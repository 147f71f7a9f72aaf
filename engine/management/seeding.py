"""What the seeding commands share: a refusal is one sentence and an exit code, and `--as` names who acts."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from engine.errors import WorkflowError
from engine.services.people.accounts import person_of_any_tenant
from engine.services.people.tenants_and_roles import choose_tenant
from workflowplatform.accounts.actor import Actor, actor_of
from workflowplatform.accounts.models import Tenant


class SeedingCommand(BaseCommand):
    """Run one verb in one transaction; what it refuses becomes one sentence."""

    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> str | None:
        try:
            with transaction.atomic():
                return self.seed(**options)
        except WorkflowError as refusal:
            raise CommandError(refusal.message) from refusal

    def seed(self, **options: Any) -> str | None:
        """Do it and return what scripts read from standard output."""
        raise NotImplementedError

    def say(self, words: str) -> None:
        """Print for the person at the terminal, apart from what scripts read."""
        self.stderr.write(words, style_func=str)


def add_acts(parser: CommandParser, *names: str) -> Any:
    """Add several acts to a command; each gets a parser of its own."""
    return parser.add_subparsers(dest="act", required=True, metavar="|".join(names))


def add_create(parser: CommandParser, what: str, acts: Any = None) -> ArgumentParser:
    """Add to a command its `create NAME` and the option that names who acts."""
    acts = acts or add_acts(parser, "create")
    create: ArgumentParser = acts.add_parser("create", help=f"create a {what}")
    create.add_argument("name", help="small letters, digits, - and _")
    create.add_argument(
        "--as", dest="acting", metavar="PERSON", help="who does it, with that person's rights (default: the operator)"
    )
    return create


def acting_in(name: str | None, tenant: Tenant | None = None) -> Actor | None:
    """Return the person named by `--as`, at work in this tenant; nobody named is the operator."""
    if name is None:
        return None
    actor = actor_of(person_of_any_tenant(name))
    return actor if tenant is None or tenant.pk == actor.tenant_id else choose_tenant(actor=actor, tenant=tenant)
