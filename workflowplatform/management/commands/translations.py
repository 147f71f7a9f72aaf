"""Bring the catalogues of texts up to date: `manage.py translations` after words were changed."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from workflowplatform.i18n import catalogues


class Command(BaseCommand):
    help = "Collect every text of the pages, write locale/*/LC_MESSAGES/django.po and compile it; say what is not translated."

    def handle(self, *args: Any, **options: Any) -> None:
        for language, _name in settings.LANGUAGES:
            if language != settings.LANGUAGE_CODE:
                missing = catalogues.renew(language)
                self.stdout.write(f"{language}: {len(missing)} texts not translated")
                for text in missing:
                    self.stdout.write(f"  {text}")
