"""Runs the cells of a notebook in a kernel of Jupyter."""

import pytest
from recorded import environment, library_folder


def outputs_of_cells(cells, folder, monkeypatch):
    """Returns the outputs of each cell. The kernel runs in the folder. Skips the test if there is no Jupyter."""
    why = "it is in ci/requirements-test.txt"
    pytest.importorskip("ipykernel", reason=why)
    nbclient = pytest.importorskip("nbclient", reason=why)
    from nbformat.v4 import new_code_cell, new_notebook

    for name, value in {**environment(), "PEAKMARK_LIBRARY_DIR": str(library_folder()), "IPYTHONDIR": str(folder)}.items():
        monkeypatch.setenv(name, value)
    notebook = new_notebook(cells=[new_code_cell(cell) for cell in cells])
    client = nbclient.NotebookClient(
        notebook, kernel_name="python3", timeout=200, allow_errors=True, resources={"metadata": {"path": str(folder)}}
    )
    client.create_kernel_manager().transport = "ipc"
    client.km.ip = "kernel"  # a short name of the sockets
    monkeypatch.chdir(folder)
    client.execute()
    return [cell.outputs for cell in notebook.cells]
