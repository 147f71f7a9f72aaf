"""Answer `manage.py role create NAME --tenant T`."""

from typing import Any

from django.core.management.base import CommandParser

from engine.management.seeding import SeedingCommand, acting_in, add_create
from engine.services.people.tenants_and_roles import create_role, tenant_named


class Command(SeedingCommand):
    help = "Create a role in a tenant."

    def add_arguments(self, parser: CommandParser) -> None:
        create = add_create(parser, "role")
        create.add_argument("--tenant", required=True)
        create.add_argument("--title", default="", help="what people read")

    def seed(self, **options: Any) -> None:
        tenant = tenant_named(options["tenant"])
        actor = acting_in(options["acting"], tenant)
        role = create_role(actor=actor, tenant=tenant, name=options["name"], title=options["title"])
        self.say(f"Role {role.name} created in {tenant.name}.")
