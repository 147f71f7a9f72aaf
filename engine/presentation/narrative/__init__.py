"""Say in words where a case stands and what happened to it: for every door the same."""
