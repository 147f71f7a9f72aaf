"""Report at the end how much was compared."""

from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Write the count, which every test brings along, from whichever process it ran in."""
    found = [report for reports in terminalreporter.stats.values() for report in reports]
    reports = [report for report in found if getattr(report, "when", "") == "call"]
    properties = [dict(getattr(report, "user_properties", ())) for report in reports]
    acts = [one["acts compared"] for one in properties if "acts compared" in one]
    if acts:
        words = f"{len(acts):,} stored tests, {sum(acts):,} acts compared with the services"
        terminalreporter.write_line(f"conformance: {words}")
