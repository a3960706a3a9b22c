"""The worker process: takes tasks from queues, runs them in supervised children, and reports its state."""
