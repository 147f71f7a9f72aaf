"""How people are told: what messages say, and how each channel sends them."""
