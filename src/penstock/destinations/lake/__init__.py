"""What table formats have in common: what a load does to the tables of a chain, and the SQL for it."""
