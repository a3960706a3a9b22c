"""Jobs: tunings as long-running operations."""
