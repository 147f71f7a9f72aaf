"""Human tasks as values: what an author rules about one, and what an answer must hold."""
