"""A folder for files that go with the process: beside the rows, else where the system has room for such."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from maxmargin.inputs.drafts import Draft, remove_dead_drafts
from maxmargin.inputs.own_folder import OwnFolder
from maxmargin.inputs.warn_caller import warn_caller
from maxmargin.inputs.when_gone import when_gone

__all__ = ["SCRATCH", "ScratchFolder"]

SCRATCH = "vectors"


class ScratchFolder:
    """A new folder of this process, gone when nobody holds this object any more.

    What a killed process left in the same place goes with the next one that makes such a folder there.

    Parameters
    ----------
    place : Path
        The folder in which to make it, itself made if it is not there. If nothing can be written there a
        warning says where the files are instead.
    """

    def __init__(self, place: Path) -> None:
        try:
            OwnFolder(place)
            remove_dead_drafts(place / SCRATCH)
            draft = Draft(place / SCRATCH, 0o700)
        except OSError as error:
            self._temporary = TemporaryDirectory(prefix="maxmargin-", ignore_cleanup_errors=True)
            self.folder = OwnFolder(Path(self._temporary.name))
            warn_caller(UserWarning(_elsewhere(place, error, self.folder.path)))
        else:
            self.folder = OwnFolder(draft.folder)
            self._end = when_gone(self, _remove, self.folder, draft)


def _remove(folder: OwnFolder, draft: Draft) -> None:
    folder.vanish()
    draft.close()


def _elsewhere(place: Path, error: OSError, folder: Path) -> str:
    return (
        f"{place} cannot be written ({error.strerror or error}): the numbers beside the rows, some hundred "
        f"bytes for each, are in {folder} while the fit runs, and a fit that is killed begins anew. If there "
        "is too little room, or that folder is in memory, set TMPDIR to another one"
    )
