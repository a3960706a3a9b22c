"""Access tokens and what they allow."""
