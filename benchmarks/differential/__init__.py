"""Does our verifier agree with TileLang's own materialiser? Random schedules are put to both; see ``__main__``."""
