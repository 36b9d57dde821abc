"""Tests ci/setup.sh on other systems: which packages it installs, and its message if it cannot. apt's programs are fakes."""

import shutil
import subprocess
from pathlib import Path

import pytest

CI = Path(__file__).resolve().parents[1]

DEBIAN_12 = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\nVERSION_ID="12"\n'
DEBIAN_13 = 'PRETTY_NAME="Debian GNU/Linux 13 (trixie)"\nID=debian\nVERSION_ID="13"\n'
TESTING = 'PRETTY_NAME="Debian GNU/Linux forky/sid"\nID=debian\nVERSION_CODENAME=forky\n'
UBUNTU_22 = 'PRETTY_NAME="Ubuntu 22.04.5 LTS"\nID=ubuntu\nVERSION_ID="22.04"\nID_LIKE=debian\n'
UBUNTU_24 = 'PRETTY_NAME="Ubuntu 24.04.1 LTS"\nID=ubuntu\nVERSION_ID="24.04"\nID_LIKE=debian\n'
FEDORA = 'PRETTY_NAME="Fedora Linux 43"\nID=fedora\nVERSION_ID=43\n'
MINT = 'PRETTY_NAME="Linux Mint 22"\nID=linuxmint\nVERSION_ID="22"\nID_LIKE="ubuntu debian"\n'

FAKES = {
    "id": 'echo "$FAKE_USER"',
    "dpkg-query": '[[ " $FAKE_INSTALLED " != *" ${!#} "* ]] || echo installed',
    "apt-cache": 'case " $FAKE_ABSENT " in *" ${!#} "*) ;; *) printf "  Candidate: 1.0\\n%.0s" {1..9999} ;; esac',
    "apt-get": """echo "$*" >>"$FAKE_LOG"
case $1 in
  update) [ -z "$FAKE_UPDATE" ] || echo "$FAKE_UPDATE"; [[ $FAKE_UPDATE != E:* ]] ;;
  install) [ -z "$FAKE_INSTALL" ] || { echo "$FAKE_INSTALL"; echo more; exit 100; } ;;
esac""",
}


@pytest.fixture
def setup(tmp_path):
    """Returns a function that runs a command of ci/setup.sh on a system, and returns its result and the calls of apt-get."""
    (tmp_path / "ci").mkdir()
    shutil.copy(CI / "setup.sh", tmp_path / "ci")
    (tmp_path / "ci" / "packages-build.txt").write_text("# needed\ncmake  # builds\nlibtomlplusplus-dev\n")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "comm", "env", "grep", "mkdir", "sed", "sort", "tail", "tr", "xargs", "printf", "dirname", "cat", "rm", "sha256sum", "echo"):
        (programs / name).symlink_to(shutil.which(name))

    def run(system, command, fakes=tuple(FAKES), **facts):
        for name in fakes:
            (programs / name).write_text(f"#!{shutil.which('bash')}\n{FAKES[name]}\n")
            (programs / name).chmod(0o755)
        (tmp_path / "os-release").write_text(system)
        log = tmp_path / "apt.log"
        log.write_text("")
        environment = {"PATH": str(programs), "PEAKMARK_OS_RELEASE": str(tmp_path / "os-release"), "FAKE_LOG": str(log), "FAKE_USER": "0",
                       "FAKE_INSTALLED": "", "FAKE_ABSENT": "", "FAKE_UPDATE": "", "FAKE_INSTALL": ""} | facts  # fmt: skip
        text = f"set -euo pipefail; . ci/setup.sh; {command}"
        ended = subprocess.run(["bash", "-c", text], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        return ended, [line for line in log.read_text().splitlines() if line.startswith("install")]

    return run


def one_message(ended):
    """Returns the message of a command that exited with 2, which must be the only text on standard error."""
    assert ended.returncode == 2, ended
    assert ended.stderr.count("ci: ") == 1, ended.stderr
    return ended.stderr


@pytest.mark.parametrize("system", [DEBIAN_12, DEBIAN_13, TESTING])
def test_missing_packages_are_installed_where_it_was_tried(setup, system):
    ended, installed = setup(system, "install_packages cmake oclgrind", FAKE_INSTALLED="cmake")
    assert ended.returncode == 0, ended.stderr
    assert installed == ["install -y -qq --no-install-recommends oclgrind"]
    assert "not tried" not in ended.stdout


def test_nothing_is_asked_where_nothing_is_missing(setup):
    for system in (DEBIAN_13, UBUNTU_22, MINT):
        ended, installed = setup(system, "install_packages cmake", FAKE_INSTALLED="cmake")
        assert (ended.returncode, ended.stdout, ended.stderr, installed) == (0, "", "", [])


def test_a_package_that_left_debian_is_skipped_with_a_line(setup):
    ended, installed = setup(DEBIAN_13, "install_packages cmake oclgrind", FAKE_ABSENT="oclgrind")
    assert ended.returncode == 0, ended.stderr
    assert "skipped: Debian GNU/Linux 13 (trixie) has no package oclgrind" in ended.stdout
    assert installed == ["install -y -qq --no-install-recommends cmake"]
    ended, installed = setup(DEBIAN_13, "install_packages oclgrind", FAKE_ABSENT="oclgrind")
    assert (ended.returncode, installed) == (0, [])


def test_on_debian_12_all_packages_are_required(setup):
    ended, installed = setup(DEBIAN_12, "install_packages cmake oclgrind", FAKE_ABSENT="oclgrind")
    assert "Debian GNU/Linux 12 (bookworm) has no package oclgrind" in one_message(ended)
    assert installed == []


def test_a_package_that_the_build_needs_is_required_everywhere(setup):
    ended, _ = setup(UBUNTU_24, "install_packages cmake libtomlplusplus-dev", FAKE_ABSENT="libtomlplusplus-dev")
    assert "Ubuntu 24.04.1 LTS has no package libtomlplusplus-dev: install the wheel" in one_message(ended)


def test_a_newer_ubuntu_is_tried_with_a_note(setup):
    ended, installed = setup(UBUNTU_24, "install_packages cmake")
    assert ended.returncode == 0, ended.stderr
    assert "Ubuntu 24.04.1 LTS was not tried" in ended.stdout
    assert installed


@pytest.mark.parametrize("system", [UBUNTU_22, DEBIAN_12.replace("12", "11")])
def test_a_system_that_is_too_old_is_sent_to_the_wheel(setup, system):
    ended, installed = setup(system, "install_packages cmake")
    message = one_message(ended)
    assert "needs CMake 3.25" in message and "install the wheel" in message
    assert installed == []


def test_an_unknown_system_is_shown_what_is_needed(setup):
    ended, installed = setup(MINT, "install_packages cmake oclgrind", FAKE_INSTALLED="oclgrind")
    message = one_message(ended)
    assert "Linux Mint 22 is unknown here" in message and "install the wheel" in message and message.endswith("  cmake\n")
    assert installed == []
    ended, _ = setup("", "install_packages cmake")
    assert "this system is unknown here" in one_message(ended)


def test_without_apt_it_shows_what_is_needed(setup):
    ended, _ = setup(FEDORA, "install_packages cmake", fakes=("id",))
    message = one_message(ended)
    assert "Fedora Linux 43 is not Debian" in message and "install the wheel" in message and message.endswith("  cmake\n")


def test_without_root_it_shows_the_command(setup):
    ended, installed = setup(DEBIAN_13, "install_packages cmake ninja-build", FAKE_USER="1000")
    assert one_message(ended).endswith("  apt-get install cmake ninja-build\n")
    assert installed == []


def test_without_a_network_the_message_has_the_reason_of_apt(setup):
    ended, _ = setup(DEBIAN_13, "install_packages cmake", FAKE_UPDATE="E: Could not resolve host")
    assert "apt-get update failed: E: Could not resolve host; check the network" in one_message(ended)
    # apt-get update succeeds with a warning, and apt knows no package of a new system.
    ended, _ = setup(DEBIAN_13, "install_packages cmake", FAKE_UPDATE="W: Failed to fetch InRelease", FAKE_ABSENT="cmake")
    assert "apt offers no cmake: W: Failed to fetch InRelease; check the network" in one_message(ended)
    ended, _ = setup(DEBIAN_13, "install_packages cmake", FAKE_INSTALL="E: Unable to fetch some archives")
    assert "apt-get could not install cmake: E: Unable to fetch some archives; correct that" in one_message(ended)


def test_pip_without_a_network_is_one_message(setup, tmp_path):
    python = tmp_path / "bin" / "python3"
    python.write_text(
        f"""#!{shutil.which('bash')}
mkdir -p "$3/bin"
printf '#!%s\\necho "WARNING: Retrying"; echo "ERROR: No matching distribution"; exit 1\\n' "{shutil.which('bash')}" >"$3/bin/pip"
chmod +x "$3/bin/pip"
"""
    )
    python.chmod(0o755)
    (tmp_path / "bin" / "chmod").symlink_to(shutil.which("chmod"))
    (tmp_path / "requirements.txt").write_text("numpy\n")
    ended, _ = setup(DEBIAN_13, "make_environment 'build/a b/venv' requirements.txt")
    assert "pip could not install requirements.txt: ERROR: No matching distribution; check the network" in one_message(ended)
    assert "Retrying" in (tmp_path / "build/a b/venv.log").read_text()


def test_a_failed_configuration_shows_its_errors_alone(setup, tmp_path):
    cmake = tmp_path / "bin" / "cmake"
    (tmp_path / "build").mkdir()

    def configured(log):
        (tmp_path / "cmake.log").write_text(log)
        cmake.write_text(f'#!{shutil.which("bash")}\ncat "{tmp_path}/cmake.log"; exit 1\n')
        cmake.chmod(0o755)
        return setup(DEBIAN_13, "configure build/release || exit 2")[0]

    error = "CMake Error at a.cmake:1 (message):\n  VkFFT is missing\n\n\n-- Configuring incomplete, errors occurred!\n"
    ended = configured("-- The C compiler is GNU\n" + error + 'See also "CMakeOutput.log".\n')
    assert (ended.returncode, ended.stderr) == (2, error.replace("\n\n\n", "\n"))
    ended = configured("Killed\n")
    assert (ended.returncode, ended.stderr) == (2, "Killed\n")


def test_a_program_without_a_package_is_skipped_with_a_line(setup):
    ended, _ = setup(DEBIAN_13, "has_program oclgrind || echo goes on", FAKE_ABSENT="oclgrind")
    assert "skipped: oclgrind is not installed" in ended.stdout and "goes on" in ended.stdout
    for system, absent in ((DEBIAN_13, ""), (DEBIAN_12, "oclgrind")):
        ended, _ = setup(system, "has_program oclgrind || echo goes on", FAKE_ABSENT=absent)
        assert "oclgrind is missing: ci/test setup installs it" in one_message(ended)


def test_this_system_is_read(setup):
    ended, _ = setup("", "read_system; echo $support", PEAKMARK_OS_RELEASE="/etc/os-release")
    assert ended.stdout.strip() in ("complete", "tested", "untested", "old", "unknown")
