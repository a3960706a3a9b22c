"""The landscape kernels, as TileLang functions of the landscape files' parameters. Import only inside a child process."""
