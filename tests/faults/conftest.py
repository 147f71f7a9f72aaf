"""Bring the cast on stage."""

from tests.cast import ada, adam, cast, committed_cast, gwen, sam, uri, zoe

__all__ = ["ada", "adam", "cast", "committed_cast", "gwen", "sam", "uri", "zoe"]
