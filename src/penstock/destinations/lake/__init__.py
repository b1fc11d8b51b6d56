"""The part that all table formats share: the plan of a chain, its merge sets, and the commits of a load."""
