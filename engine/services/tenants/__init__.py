"""A tenant's secrets and calendars, and visits from other tenants."""
