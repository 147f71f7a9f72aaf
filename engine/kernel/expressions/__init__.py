"""Expressions: CEL, its functions, texts with expressions inside, and the cost of evaluating them."""
