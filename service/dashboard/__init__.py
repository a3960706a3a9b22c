"""The dashboard: server-rendered pages over read-only sessions, live by server-sent events, no request to another host.

Pages are at ``/``, assets at ``/static``. Every page works as plain HTML without scripts; htmx refreshes parts of it, and
ECharts draws the scatter and history from data in the page. A job's page is also a file (``report.py``).
"""

from warpwright.service.dashboard.endpoints import router
from warpwright.service.dashboard.rendering import static_files
from warpwright.service.dashboard.report import router as report_router

__all__ = ["report_router", "router", "static_files"]
