"""Run an instance until every live branch waits: the entry points of the kernel."""
