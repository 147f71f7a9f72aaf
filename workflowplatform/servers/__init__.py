"""Run PostgreSQL and Valkey as private servers next to the product, and find them again."""
