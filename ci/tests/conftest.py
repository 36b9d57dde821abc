"""Fixtures for the tests of several files."""

import pytest
from slurm_cluster import NotHere, SlurmCluster


@pytest.fixture(scope="module")
def cluster():
    try:
        running = SlurmCluster()
    except NotHere as reason:
        pytest.skip(f"Slurm's daemons do not run here: {reason}")
    yield running
    running.stop()
