"""Workers and what they can do."""
