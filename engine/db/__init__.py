"""What the layers above share of the database: transactions, pages by keyset, hydration, locks, the outbox."""
