"""A Slurm of one node, with its own munge key, free ports, and all files in a temporary folder. Needs no root and no systemd."""

import getpass
import os
import select
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

CONFIGURATION = """ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
# Slurm starts a requeued job no sooner than cred_expire; the default is 120 s, and 5 s or less are ignored.
AuthInfo=socket={folder}/munge.sock,cred_expire=6
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=1 Features=kind_a,kind_b State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:16
"""
START_SECONDS = 60


class NotHere(Exception):
    """Slurm's daemons cannot run on this machine."""


def daemon(name: str) -> str:
    """Returns the path of a daemon, which is outside the PATH of users."""
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if found is None:
        raise NotHere(f"{name} is not installed")
    return found


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def read_line(fifo: Path) -> str:
    """Waits until a process writes to the FIFO."""
    opened = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert select.select([opened], [], [], 120)[0], f"no process has written to {fifo}"
        return os.read(opened, 100).decode()
    finally:
        os.close(opened)


class SlurmCluster:
    """Runs munged, slurmctld and slurmd from start to stop()."""

    def __init__(self) -> None:
        # munged refuses sockets in private folders, which $TMPDIR may be.
        self.folder = Path(tempfile.mkdtemp(prefix="peakmark-slurm-", dir="/tmp"))
        self.folder.chmod(0o755)
        self.daemons: list[subprocess.Popen[bytes]] = []
        self.environment = {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf")}
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def _start(self) -> None:
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        host = socket.gethostname().split(".")[0]
        (self.folder / "slurm.conf").write_text(
            CONFIGURATION.format(host=host, user=getpass.getuser(), ports=free_ports(2), folder=self.folder)
        )
        files = {"key-file": "munge.key", "socket": "munge.sock", "pid-file": "munged.pid", "log-file": "munged.log",
                 "seed-file": "munged.seed"}  # fmt: skip
        self._launch("munged", "--foreground", *(f"--{option}={self.folder / name}" for option, name in files.items()))
        self._wait_for(lambda: (self.folder / "munge.sock").exists(), "munged has no socket")
        self._launch("slurmctld", "-D", "-f", self.environment["SLURM_CONF"])
        self._launch("slurmd", "-D", "-f", self.environment["SLURM_CONF"])
        self._wait_for(lambda: "idle" in self.call("sinfo", "--noheader", "--format=%T").stdout, "the node does not become idle")

    def _launch(self, name: str, *arguments: str) -> None:
        with (self.folder / f"{name}.output").open("wb") as output:
            self.daemons.append(
                subprocess.Popen([daemon(name), *arguments], env=self.environment, stdout=output, stderr=output)
            )

    def _wait_for(self, is_ready, what: str) -> None:
        for _ in range(START_SECONDS * 10):
            if is_ready():
                return
            ended = [one for one in self.daemons if one.poll() is not None]
            if ended:
                raise NotHere(f"{Path(str(ended[0].args[0])).name} ended: {self.outputs()}")
            select.select([], [], [], 0.1)
        raise NotHere(f"{what}: {self.outputs()}")

    def outputs(self) -> str:
        """Returns the last lines that the daemons have written."""
        return "; ".join(" ".join(file.read_text().splitlines()[-2:]) for file in sorted(self.folder.glob("*.output")))

    def call(self, *command: str, **options) -> subprocess.CompletedProcess[str]:
        """Runs a program that finds this Slurm."""
        return subprocess.run(
            command, env=self.environment, capture_output=True, text=True, check=False, timeout=300, **options
        )

    def stop(self) -> None:
        if len(self.daemons) == 3:
            self.call("scancel", f"--user={getpass.getuser()}")
        for one in reversed(self.daemons):
            one.terminate()
            try:
                one.wait(timeout=30)
            except subprocess.TimeoutExpired:
                one.kill()
                one.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
