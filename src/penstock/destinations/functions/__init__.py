"""Functions as destinations: batches of rows are passed to a function of the user."""
