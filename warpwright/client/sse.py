"""Server-sent events as job events: lines in, :class:`EventView` out. The clients feed it and reconnect."""

from pydantic import ValidationError

from warpwright.errors import foreign
from warpwright.service.jobs.schemas import EventView

__all__ = ["EventLines"]


class EventLines:
    """Collects the lines of a stream, whose ``data`` are whole events; ``last`` is the number to resume after."""

    def __init__(self, after: int = 0) -> None:
        self.last = after
        self._data: list[str] = []

    @property
    def headers(self) -> dict[str, str]:
        """Headers of a request that resumes after the last event."""
        return {"Accept": "text/event-stream", **({"Last-Event-ID": str(self.last)} if self.last else {})}

    def feed(self, line: str) -> EventView | None:
        """The event that this line completes, or None; comments and heartbeats complete no event."""
        if line:
            name, _, value = line.partition(":")
            if name == "data":
                self._data.append(value.removeprefix(" "))
            return None
        if not self._data:
            return None
        data, self._data = "\n".join(self._data), []
        try:
            event = EventView.model_validate_json(data)
        except ValidationError as error:
            raise foreign(data[:200]) from error
        self.last = event.number
        return event
