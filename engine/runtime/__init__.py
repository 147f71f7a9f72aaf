"""Move instances: load, run the kernel, commit; and the rules that hold between instances."""
