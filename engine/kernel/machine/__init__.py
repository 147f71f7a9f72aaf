"""The working copy of one slice and the rules that all step kinds share."""
