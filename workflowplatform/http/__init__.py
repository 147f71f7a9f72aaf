"""Middleware and helpers of HTTP: bodies, caches, client addresses, threads."""
