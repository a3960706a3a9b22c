"""The HTTP service: jobs, database, task engine, dashboard. Imports solver and lowering; TileLang, TVM and torch never."""
