"""What each page shows, as plain values from a read session. Every query is bounded by the page, not by the table."""
