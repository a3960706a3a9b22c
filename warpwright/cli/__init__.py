"""The command line. ``main`` declares commands; each body is a module of its own, imported when it is called."""
