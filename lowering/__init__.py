"""From IR to a measured kernel: frontend, materialize, compile, measure. Heavy libraries are imported in child processes only."""
