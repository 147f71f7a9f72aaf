"""Run retention next to the work of a worker."""

from engine.conf import conf
from engine.dispatch.shared_jobs import SharedJob, Shares
from engine.services.retention.runs import begin_shares, has_work

EVERY = 5.0


class Sweeper(SharedJob):
    name = "retention"
    seconds_between_looks = EVERY

    def begin(self) -> Shares | None:
        """Begin if a run is due or was requested."""
        daily = conf.retention
        return begin_shares(daily=daily) if has_work(daily=daily) else None
