"""Run PostgreSQL and Valkey as private servers beside the product, and find them again."""
