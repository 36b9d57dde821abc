"""Tests ci/vkfft without a network: its messages if it cannot download, or gets another package."""

import io
import os
import pathlib
import subprocess
import tarfile

SCRIPT = pathlib.Path(__file__).resolve().parents[1] / "vkfft"


def run(folder, **environment):
    return subprocess.run(
        [SCRIPT, folder],
        env={**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_an_index_it_says_what_to_do(tmp_path):
    result = run(tmp_path / "vkfft")
    assert result.returncode == 2
    reason, remedy = result.stderr.splitlines()
    assert reason.startswith(
        "ci/vkfft: cannot get VkFFT 1.3.4: pip could not download pyvkfft 2024.1.4: ERROR: No matching distribution found for pyvkfft==2024.1.4; "
        "check the network and pip's configuration. Or unpack pyvkfft-2024.1.4.tar.gz of PyPI"
    )
    assert "-DPEAKMARK_VKFFT_INCLUDE=FOLDER/pyvkfft-2024.1.4/src/VkFFT/vkFFT" in remedy
    assert result.stdout == ""
    # A second run does not mistake the remains for headers.
    assert run(tmp_path / "vkfft").returncode == 2


def test_another_package_of_that_name_is_refused(tmp_path):
    links = tmp_path / "links"
    links.mkdir()
    header = b"static int VkFFTGetVersion() { return 10304; }\n"
    with tarfile.open(links / "pyvkfft-2024.1.4.tar.gz", "w:gz") as archive:
        for name in ("setup.py", "src/VkFFT/vkFFT/vkFFT.h"):
            member = tarfile.TarInfo(f"pyvkfft-2024.1.4/{name}")
            member.size = len(header)
            archive.addfile(member, io.BytesIO(header))
    result = run(tmp_path / "vkfft", PIP_FIND_LINKS=str(links))
    assert result.returncode == 2
    assert "DO NOT MATCH THE HASHES" in result.stderr
    assert not (tmp_path / "vkfft" / "include" / "vkFFT.h").exists()


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").touch()
    result = run(tmp_path / "file" / "vkfft")
    assert result.returncode == 2
    assert "file/vkfft cannot be written" in result.stderr
