"""Answer `manage.py person create NAME --tenant T --level N [--role R]… [--token] [--password P]`."""

from typing import Any

from django.core.management.base import CommandParser

from engine.management.seeding import SeedingCommand, acting_in, add_create
from engine.services.people import create_person, create_token, tenant_named
from workflowplatform.accounts.models import Kind


class Command(SeedingCommand):
    help = "Create a person in a tenant; with --token the only output is a REST token."

    def add_arguments(self, parser: CommandParser) -> None:
        create = add_create(parser, "person")
        create.add_argument("--tenant", required=True)
        create.add_argument(
            "--level", type=int, required=True, help="1 public, 2 user, 3 moderator, 4 admin, 5 god, 6 supergod"
        )
        create.add_argument("--role", action="append", default=[], dest="roles", metavar="ROLE")
        create.add_argument("--kind", choices=Kind.values, default=Kind.PERSON.value, help="service: tokens only")
        create.add_argument("--email", default="")
        create.add_argument("--full-name", default="")
        create.add_argument("--password", help="without one the person comes in by an invitation or a token only")
        create.add_argument("--token", action="store_true", help="print a REST token")

    def seed(self, **options: Any) -> str | None:
        tenant = tenant_named(options["tenant"])
        actor = acting_in(options["acting"], tenant)
        facts = {key: options[key] for key in ("name", "level", "roles", "password", "email", "full_name", "kind")}
        person = create_person(actor=actor, tenant=tenant, **facts)
        self.say(f"{person.display_name} created in {tenant.name} with level {person.level}.")
        # The operator's token, whoever `--as` names: nobody else may make one for another person.
        return create_token(actor=None, person=person, name="command line")[1] if options["token"] else None
