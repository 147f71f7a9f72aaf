"""The pure machine: definition + snapshot + happenings → snapshot' + waits + effects + trace.

No Django, no clock, no I/O.
"""
