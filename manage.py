#!/usr/bin/env python
"""Run a management command; `up` runs without Django, because it must work before there is a database."""

import os
import sys

from workflowplatform.servers.errors import CannotStart


def main() -> None:
    """Run the command; print `CannotStart` as one sentence, not as a traceback."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workflowplatform.settings")
    try:
        if sys.argv[1:2] == ["up"]:
            from workflowplatform.servers.up import main as up

            sys.exit(up(sys.argv[2:]))
        _run(sys.argv)
    except CannotStart as refusal:
        sys.exit(str(refusal))


def _run(words: list[str]) -> None:
    """Run a command of Django's or ours; a database that it cannot use is a refusal too, unless all is asked for."""
    from django.core.management import execute_from_command_line
    from django.db import Error

    from workflowplatform.database.tenancy import crossing

    try:
        with crossing("operator"):
            execute_from_command_line(words)
    except Error as error:
        from workflowplatform.database.command_errors import sentence_for

        told = None if "--traceback" in words else sentence_for(error)
        if told is None:
            raise
        raise CannotStart(told) from error


if __name__ == "__main__":
    main()
