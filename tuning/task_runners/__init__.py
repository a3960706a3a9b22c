"""Adapters of the task runner port: children on this machine, or Celery workers on others."""
