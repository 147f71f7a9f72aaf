"""Figures about the work of a tenant."""
