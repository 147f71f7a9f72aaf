"""The admin's site: access, look and navigation."""
