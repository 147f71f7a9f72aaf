"""Verify, sign and export the audit."""
