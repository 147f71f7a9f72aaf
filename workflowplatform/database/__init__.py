"""Django's PostgreSQL backend with a short way for the few statements that everybody waits for."""
