"""The flow: start → one approval by a person → end."""

from typing import Any

from viewflow import this
from viewflow.workflow import flow, lock


def no_page(request: Any) -> None:
    """Stand for the pages: the acts are called as Viewflow's views call them, without HTTP."""


class Approval(flow.Flow):
    """Three nodes: every node of Viewflow is a row of its own, so the automatic steps are plain code."""

    lock_impl = lock.select_for_update_lock

    start = flow.Start(no_page).Next(this.review)
    review = flow.View(no_page).Permission("viewflow_peer.review").Next(this.end)
    end = flow.End()
