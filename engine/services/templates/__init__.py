"""Author templates: drafts, tests, trials, versions."""
