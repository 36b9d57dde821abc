"""A PostgreSQL server for a test. All of its files are in a temporary folder, and clients connect to a socket in it."""

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path


class NotHere(Exception):
    """PostgreSQL cannot run on this machine."""


def programs() -> Path:
    """Returns the folder of the newest PostgreSQL, which Debian keeps outside of PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda file: int(file.parts[-3]))
    if found:
        return found[-1].parent
    other = shutil.which("initdb")
    if other is None:
        raise NotHere("PostgreSQL is not installed (Debian 12: postgresql)")
    return Path(other).parent


class PostgresqlServer:
    """Runs initdb and postgres from start to stop()."""

    def __init__(self) -> None:
        # Not in $TMPDIR: its folders may be private, and the path of a socket is short.
        self.folder = Path(tempfile.mkdtemp(prefix="peakmark-postgresql-", dir="/tmp"))
        self.user: dict[str, int | list[int]] = {}
        try:
            if os.geteuid() == 0:  # PostgreSQL refuses to run as root
                account = next((one for one in pwd.getpwall() if one.pw_name in ("postgres", "nobody")), None)
                if account is None:
                    raise NotHere("no user 'postgres' or 'nobody' to run it as")
                self.user = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
                os.chown(self.folder, account.pw_uid, account.pw_gid)
                self.folder.chmod(0o755)
            self._start()
        except BaseException:
            self.stop()
            raise

    def _start(self) -> None:
        data = self.folder / "data"
        self._call("initdb", "-D", data, "-A", "trust", "-U", "owner", "--no-sync", "--no-locale", "-E", "UTF8")
        options = f"-k {self.folder} -c listen_addresses= -F"
        self._call("pg_ctl", "start", "-D", data, "--wait", "--log", self.folder / "log", "-o", options)

    def _call(self, name: str, *arguments: str | Path) -> None:
        # postgres keeps the descriptors of pg_ctl, so with a pipe this would wait until postgres ends.
        with tempfile.TemporaryFile("w+") as output:
            ended = subprocess.run(
                [programs() / name, *arguments], stdout=output, stderr=output, check=False, cwd="/", **self.user
            )
            output.seek(0)
            if ended.returncode:
                raise NotHere(f"{name}: {output.read().strip()}")

    def url(self, role: str) -> str:
        return f"postgresql:///postgres?host={self.folder}&user={role}"

    def execute(self, text: str) -> None:
        """Executes SQL as the owner of the database."""
        subprocess.run(
            [programs() / "psql", self.url("owner"), "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--command", text],
            check=True, capture_output=True, text=True,
        )  # fmt: skip

    def stop(self) -> None:
        if (self.folder / "data/postmaster.pid").exists():
            self._call("pg_ctl", "stop", "-D", self.folder / "data", "--mode", "immediate")
        shutil.rmtree(self.folder, ignore_errors=True)
