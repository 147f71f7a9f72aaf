"""The same two pieces of work done by others, side by side with ours, on one PostgreSQL.

W1 is one human approval: start, claim, complete. W2 is a timer, a call that fails twice, and its success. Each competitor is one
short module that says what it does and why that is fair; `crew` runs its clients as processes of their own, `rounds` lets all
competitors take turns, `figures` does the arithmetic. Nothing here is part of the product, and nothing of theirs is installed
with it: `bin/peers` makes .venv-peers.
"""
