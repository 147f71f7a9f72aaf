"""Server-sent events: one reader a process follows the audit for everybody who listens there.

`serving` stands before Django in ASGI: Django decides who may listen, in a request like any other that ends at once; then the
stream goes on in the event loop alone, with no thread and no database connection of its own. `hub` knows who listens and reads
for them in one thread, `listeners` is what passes between that thread and the loop, `bell` waits for the next reason to look.
"""
