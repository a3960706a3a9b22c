"""What tasks run on is away: nobody's kernel is to blame, and whoever asked tries again later."""

from warpwright.solver.domain import WarpwrightError

__all__ = ["Outage"]


class Outage(WarpwrightError):
    """A broker, the workers or a store do not answer for longer than a step has patience; the job waits for them."""

    code = "unavailable"
