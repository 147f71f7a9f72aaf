"""Answer `manage.py reset_link PERSON`."""

from typing import Any

from django.core.management.base import CommandParser

from engine.conf import conf
from engine.management.seeding import SeedingCommand
from engine.services.people.accounts import make_reset_link, person_of_any_tenant


class Command(SeedingCommand):
    help = "Print a link by which a person chooses a password, to hand over where the server sends no mail."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("person")

    def seed(self, **options: Any) -> str:
        if not conf.public_url:
            self.say("WORKFLOW_PUBLIC_URL is not set: put the address of this server before the link.")
        return make_reset_link(person=person_of_any_tenant(options["person"]))
