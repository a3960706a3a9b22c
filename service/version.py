"""Version of the HTTP interface: moves with every change of ``openapi.json``."""

__all__ = ["API_VERSION"]

API_VERSION = "0.3.1"
