"""How many of the proposed candidates build, over kernels that nobody here wrote; see ``__main__``."""
