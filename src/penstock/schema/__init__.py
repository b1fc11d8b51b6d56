"""Tables, columns, types, names and how they change: pure values."""
