"""Work items on executors, in waves: each wave is one Spark job with one checkpoint.

The next run after a crash continues after the finished waves.
"""
