"""Misbehaving tasks, a toolchain and devices for contract tests; part of the package, so that clients can test with them, too."""
