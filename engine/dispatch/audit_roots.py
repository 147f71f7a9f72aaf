"""Make the day's root of the audit next to the work of a worker."""

from engine.conf import conf
from engine.dispatch.shared_jobs import SharedJob, Shares
from engine.services.audit.roots import begin_root, is_due

EVERY = 30.0


class RootMaker(SharedJob):
    name = "audit root"
    seconds_between_looks = EVERY

    def begin(self) -> Shares | None:
        """Begin where today's root is missing; a worker that leaves drops its share and another begins anew."""
        return begin_root() if conf.audit_roots and is_due() else None
