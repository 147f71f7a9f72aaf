"""Bring the cast on stage."""

from tests.cast import ada, adam, cast, committed_cast, gwen, sam, uri, zoe
from tests.replaying import replayed

__all__ = ["ada", "adam", "cast", "committed_cast", "gwen", "replayed", "sam", "uri", "zoe"]
