"""Many jobs under one status."""
