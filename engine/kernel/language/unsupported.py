"""List what the language has and the platform does not yet execute, each with its reason.

A construct listed here is refused at its line with code `not_yet`, never ignored. The names are those of
shapes.py. Remove the row when the construct runs in every layer.
"""

from collections.abc import Mapping

_INBOX = "the inbox does not know it yet"

NOT_YET: Mapping[str, str] = {
    "task.assign_by=skill": _INBOX,
}
