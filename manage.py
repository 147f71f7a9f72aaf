#!/usr/bin/env python
"""Run a management command; `up` runs without Django, because it must work before there is a database."""

import os
import sys

from workflowplatform.services.refusals import CannotStart


def main() -> None:
    """Hand the words to their command; a refusal of the house is one sentence, not a traceback."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workflowplatform.settings")
    try:
        if sys.argv[1:2] == ["up"]:
            from workflowplatform.services.up import main as up

            sys.exit(up(sys.argv[2:]))
        from django.core.management import execute_from_command_line

        execute_from_command_line(sys.argv)
    except CannotStart as refusal:
        sys.exit(str(refusal))


if __name__ == "__main__":
    main()
