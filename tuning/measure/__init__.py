"""Measuring sessions as the orchestration wants them: devices of this machine, of workers, and the session itself."""
