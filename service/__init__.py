"""The HTTP service: jobs, database, task runner, dashboard. Imports solver and lowering; TileLang, TVM and torch never."""
