"""SQL databases as destinations: statements, transactions of loads, ledger, clients."""
