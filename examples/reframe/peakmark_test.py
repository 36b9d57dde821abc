"""A ReFrame test of a suite of peakmark: a figure for the peak of each case, and the verdict of `peakmark check`."""

import json
import shlex
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.builtins import run_before, sanity_function, variable


class PeakmarkSuite(rfm.RunOnlyRegressionTest):
    """Measures a suite. Derive a class and set `suite`, relative to its file, and what else differs.

    The figures are `requested_peak_bytes` of each case. Their names have `=` where the case has `:`, which separates
    system, partition and name in ReFrame.
    """

    suite = variable(str)
    #: Options of `peakmark run`.
    run_options = variable(typ.List[str], value=[])
    #: Options of `peakmark check`, such as `--baseline FILE` with an absolute path.
    check_options = variable(typ.List[str], value=[])
    peakmark = variable(str, value="peakmark")

    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    sourcesdir = None

    @run_before("run")
    def set_commands(self):
        suite = str(Path(self.prefix) / self.suite)
        self.executable = shlex.quote(self.peakmark)
        self.executable_opts = [shlex.quote(word) for word in ["run", suite, "-o", "run.json", *self.run_options]]
        check = shlex.join([self.peakmark, "check", "run.json", "--junit", "junit.xml", *self.check_options])
        self.postrun_cmds = [f'{check}; echo "exit code of check: $?"']
        self.keep_files = ["run.json", "junit.xml"]

    @sanity_function
    def has_passed(self):
        """Cases that are outside their window, crashed, or were not measured fail the test."""
        return sn.assert_eq(sn.extractsingle(r"^exit code of check: (\d+)$", self.stdout, 1, int), 0)

    @run_before("performance")
    def set_figures(self):
        run = json.loads((Path(self.stagedir) / "run.json").read_text())
        cases = [row["peakmark"] for row in run["benchmarks"] if "peakmark" in row]
        self.perf_variables = {
            case["case"].replace(":", "="): sn.make_performance_function(sn.defer(case["requested_peak_bytes"]), "B")
            for case in cases
            if case["requested_peak_bytes"] is not None
        }


@rfm.simple_test
class VerticalShift(PeakmarkSuite):
    """Two shapes of a built-in operation. `dry` needs no device: leave --backend out on a cluster with GPUs."""

    suite = "vertical-shift.toml"
    run_options = ["--memory-only", "--backend", "dry"]
    reference = {"*": {"vertical_shift/fused/dry/n_a=24/n_z=31/nx=53": (157824, 0, 0, "B")}}
