"""Name the release; pyproject.toml says the same, which a test compares."""

VERSION = "0.2.0"
