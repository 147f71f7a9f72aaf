"""Try a workflow without a database: the same interpreter under a fake clock, driven by the `tests` of a template.

A test is an object: who starts it, with what, how tasks and calls are answered, what is done, what is expected.
`run_test` plays one; `run_tests` all that a definition holds.
"""

from engine.kernel.simulator.environment import SimulationSetup
from engine.kernel.simulator.player import Report, run_test, run_tests, simulate
from engine.kernel.simulator.world import World

__all__ = ["Report", "SimulationSetup", "World", "run_test", "run_tests", "simulate"]
