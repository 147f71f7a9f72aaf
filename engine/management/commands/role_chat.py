"""Answer `manage.py role_chat ROLE slack|teams --tenant T [--address ADDRESS]`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from engine.errors import WorkflowError
from engine.models.notification import CHATS
from engine.services.notifications.role_chats import set_role_chat
from engine.services.people.tenants_and_roles import tenant_named
from workflowplatform.accounts.actor import operator_actor


class Command(BaseCommand):
    help = "Send a role's new tasks to Slack or Teams; without --address, stop that."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("role")
        parser.add_argument("chat", choices=CHATS)
        parser.add_argument("--tenant", required=True)
        parser.add_argument("--address", default="", help="an incoming webhook; it is kept encrypted")
        parser.add_argument("--language", default="", help="in which the chat is written, such as de")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            actor = operator_actor(tenant_named(options["tenant"]).pk)
            given = {name: options[name] for name in ("role", "chat", "address", "language")}
            chat = set_role_chat(actor=actor, **given)
        except WorkflowError as refusal:
            raise CommandError(refusal.message) from refusal
        self.stdout.write("The role is told there from now on." if chat else "The role is told there no more.")
