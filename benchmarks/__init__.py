"""Programs that measure penstock, each run as `uv run python -m benchmarks.<name>`."""
