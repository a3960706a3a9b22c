"""The client that a command uses: of a server, or of the service in this process."""

from warpwright.client import Client

__all__ = ["client_of"]


def client_of(server: str | None, token: str | None) -> Client:
    """A client of ``server``; without one, of the service inside this process.

    Raises:
        WarpwrightError: the data folder or its database cannot be used.
    """
    if server:
        return Client(server, token=token)
    from warpwright.embedded import embedded_client

    return embedded_client()
