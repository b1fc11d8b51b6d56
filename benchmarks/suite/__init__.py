"""The runner of the benchmarks: measures, results, budgets, tables and charts."""
