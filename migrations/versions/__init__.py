"""The revisions, in order of their file names."""
