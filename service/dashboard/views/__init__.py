"""The content of each page, as plain values from a read session. Every query is bounded by the page, not by the table."""
