"""Stored results: lookup, staleness, refresh."""
