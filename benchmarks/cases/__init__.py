"""The cases of the suite: each runs penstock beside bare Spark and dlt, in turns."""
