"""Stream server-sent events: in each process one reader follows the audit for all its listeners.

`asgi` wraps Django: Django decides who may listen, in a normal request that ends at once; then the stream continues in the event
loop, with no thread and no database connection of its own. `hub` holds the listeners of a process and reads for them in one
thread, `listeners` is what passes between that thread and the loop, `wake_up` waits for the next reason to look.
"""
