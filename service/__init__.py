"""The HTTP service: jobs, database, dashboard. Imports tuning, lowering and solver; never TileLang, TVM or torch."""
