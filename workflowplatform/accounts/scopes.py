"""Name what a token may be narrowed to. A token without scopes may whatever its person may."""

from enum import StrEnum


class Scope(StrEnum):
    READ = "read"
    START = "start"
    OPERATE = "operate"
    AUTHOR = "author"
