"""Answer `manage.py tenant create NAME`."""

from typing import Any

from django.core.management.base import CommandParser

from engine.management.seeding import SeedingCommand, acting_in, add_create
from engine.services.people.tenants_and_roles import create_tenant


class Command(SeedingCommand):
    help = "Create a tenant with its default roles."

    def add_arguments(self, parser: CommandParser) -> None:
        create = add_create(parser, "tenant")
        create.add_argument("--title", default="", help="what people read")

    def seed(self, **options: Any) -> None:
        tenant = create_tenant(actor=acting_in(options["acting"]), name=options["name"], title=options["title"])
        self.say(f"Tenant {tenant.name} created.")
