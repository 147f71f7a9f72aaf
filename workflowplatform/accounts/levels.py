"""Name the six levels and the minimum level for each action."""

from enum import IntEnum


class Level(IntEnum):
    PUBLIC = 1
    USER = 2
    MODERATOR = 3
    ADMIN = 4
    GOD = 5
    SUPERGOD = 6


TO_SEE_TENANT = Level.ADMIN
"""From here on a person sees every instance and task of the tenant, and the admin."""

TO_OPERATE = Level.ADMIN
TO_AUTHOR = Level.GOD
TO_MANAGE_PEOPLE = Level.GOD
TO_MANAGE_WEBHOOKS = Level.GOD
TO_CROSS_TENANTS = Level.SUPERGOD
LOWEST_TASK_LEVEL = Level.USER
"""A task's `min_level` may open it to this level, never further down."""
