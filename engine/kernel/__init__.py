"""The pure machine: definition + snapshot + events → snapshot' + waits + effects + trace.

No Django, no clock, no I/O.
"""
