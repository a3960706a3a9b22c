"""Server-sent events as job events: lines in, :class:`EventView` out. The clients feed it and reconnect."""

import json
from datetime import datetime

from service.jobs.schemas import EventView

__all__ = ["EventLines"]


class EventLines:
    """Collects the lines of a stream; ``last`` is the number to resume after."""

    def __init__(self, after: int = 0) -> None:
        self.last = after
        self._number = after
        self._kind = ""
        self._data: list[str] = []

    @property
    def headers(self) -> dict[str, str]:
        """Headers of a request that misses nothing and gets nothing twice."""
        return {"Accept": "text/event-stream", **({"Last-Event-ID": str(self.last)} if self.last else {})}

    def feed(self, line: str) -> EventView | None:
        """The event that this line completes, if it completes one; comments and heartbeats complete none."""
        if line:
            name, _, value = line.partition(":")
            if name == "id" and value.strip().isdigit():
                self._number = int(value)
            elif name == "event":
                self._kind = value.strip()
            elif name == "data":
                self._data.append(value.removeprefix(" "))
            return None
        if not self._data:
            return None
        body = json.loads("\n".join(self._data))
        if body.get("number") == self._number:  # a candidate's event has the candidate's own number here
            del body["number"]
        event = EventView(
            number=self._number,
            kind=self._kind,
            at=datetime.fromisoformat(body.pop("at")),
            attempt=int(body.pop("attempt")),
            data=body,
        )
        self._kind, self._data = "", []
        self.last = event.number
        return event
