"""Cursors while they run: which rows are new, how far a resource has come, what the state remembers of it."""
