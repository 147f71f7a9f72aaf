"""Forms made from JSON Schemas, and values shown to people: what the inbox, the start pages and the trials of authors share."""
