"""Name in each report which promise of docs/security.md a test keeps: `@pytest.mark.security("name of the promise")`."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Write the promise next to the verdict, so that `bin/test --security` can add up by promise."""
    for item in items:
        marker = item.get_closest_marker("security")
        if marker is not None:
            (promise,) = marker.args
            item.user_properties.append(("promise", promise))
