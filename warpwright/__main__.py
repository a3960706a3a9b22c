"""``python -m warpwright``."""

from warpwright.cli.main import main

main()
