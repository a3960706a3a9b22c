"""Misbehaving tasks, a toolchain and devices for contract tests; shipped, so that clients can test against them too."""
