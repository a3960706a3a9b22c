"""Candidates of jobs."""
