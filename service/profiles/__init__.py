"""Hardware profiles as resources, immutable by digest."""
