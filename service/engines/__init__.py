"""Adapters of the task engine port: children on this machine, or Celery workers on others."""
