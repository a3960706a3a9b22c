"""The folder of database and artifacts: created if it is missing, and tested before anything relies on it."""

import tempfile
from pathlib import Path

from warpwright.service.errors import Unavailable

__all__ = ["DataFolderAway", "prepare_data_folder"]

VARIABLE = "WARPWRIGHT_DATA"


class DataFolderAway(Unavailable):
    """The data folder cannot be created or written, as for a user without a writable home."""

    code = "data-folder-away"


def prepare_data_folder(folder: Path) -> None:
    """Creates the folder, for its owner alone, and writes a file into it.

    Raises:
        DataFolderAway: that failed; the message names the variable that sets another folder.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        message = f"the data folder {folder} is not writable: {error.strerror or error}; set {VARIABLE} to one that is"
        raise DataFolderAway(message, place=VARIABLE) from error
