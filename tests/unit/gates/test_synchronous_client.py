"""Both clients have one source, so that neither can do what the other cannot."""

import inspect

import pytest

from tests.unit.gates.synchronous_client import SOURCE, TARGET, derived
from warpwright import AsyncClient, Client


def test_the_blocking_client_is_what_is_derived_from_the_other() -> None:
    assert TARGET.read_text("utf-8") == derived(SOURCE.read_text("utf-8")), "run 'make client'"


def test_what_has_no_blocking_form_is_refused() -> None:
    with pytest.raises(ValueError, match="asynccontextmanager"):
        derived(SOURCE.read_text("utf-8") + "\nfrom contextlib import asynccontextmanager\n")


def test_both_have_the_same_methods_with_the_same_parameters() -> None:
    def public(client: type) -> dict[str, list[str]]:
        members = inspect.getmembers(client, inspect.isfunction)
        return {name: list(inspect.signature(each).parameters) for name, each in members if name[0] != "_"}

    assert public(Client) == public(AsyncClient)
    assert len(public(Client)) > 25
