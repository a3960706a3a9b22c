"""An outage of what tasks need: no kernel is to blame, and the caller tries again later."""

from warpwright.solver.domain import WarpwrightError

__all__ = ["Outage"]


class Outage(WarpwrightError):
    """A broker, the workers or a store do not answer within the time limit of a step; the job waits for them."""

    code = "unavailable"
