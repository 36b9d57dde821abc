#include "cli/ci_files.hpp"

#include <fmt/format.h>

#include <sstream>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "embedded_files.hpp"

namespace peakmark::cli {
namespace {

/// What jobs install where they are root. The names are those of every Debian and Ubuntu.
constexpr std::string_view kRuntimePackages =
    "git ca-certificates python3-venv ocl-icd-libopencl1 pocl-opencl-icd";
constexpr std::string_view kBuildPackages = "cmake g++ ninja-build ocl-icd-opencl-dev opencl-c-headers";

// Steps of both systems. They run with `sh -e`; the commands of a later one need only what is in the files.
constexpr std::string_view kInstallStep = R"(# Install peakmark: the wheel
if [ -z "${PEAKMARK_WHEEL:-}" ]; then
  echo "no peakmark: PEAKMARK_WHEEL is not set; set the variable to what follows 'pip install': a file, a URL, or --index-url URL peakmark" >&2
  exit 1
fi
python3 -m venv build/peakmark
build/peakmark/bin/python -m pip install -q --disable-pip-version-check $PEAKMARK_WHEEL
)";
constexpr std::string_view kBuildStep = R"sh(# Build
cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$(build/peakmark/bin/python -m peakmark.cmake_prefix)" -DCMAKE_BUILD_RPATH_USE_ORIGIN=ON
cmake --build build
)sh";
constexpr std::string_view kBalanceStep =
    R"(# Balance: the newest run in the history has the seconds of each case. One file, since all shards need the same.
if build/peakmark/bin/peakmark history create --history "$HISTORY" &&
  build/peakmark/bin/peakmark history export --format run -o build/runs.jsonl --history "$HISTORY"; then
  tail -n 1 build/runs.jsonl >build/balance.json
fi
)";
constexpr std::string_view kPackStep = R"(# Pack: an artifact of single files would lose their modes
tar -cf built.tar --exclude build/peakmark --exclude 'build/history.db*' build
mv built.tar build/
)";
constexpr std::string_view kMeasureStep = R"(# Measure
tar -xf build/built.tar
balance=
[ ! -s build/balance.json ] || balance="--balance build/balance.json"
build/peakmark/bin/peakmark run @SUITE@@REQUIRE@ --shard "$SHARD/@SHARDS@" $balance -o "build/shard-$SHARD.json"
)";
constexpr std::string_view kMergeStep = R"(# Merge: names the shards that are missing
tar -xf build/built.tar
build/peakmark/bin/peakmark merge build/shard-*.json -o build/run.json
)";
constexpr std::string_view kAddStep = R"(# Add to the history
build/peakmark/bin/peakmark history create --history "$HISTORY"
build/peakmark/bin/peakmark history add build/run.json --history "$HISTORY"
)";
constexpr std::string_view kJudgeStep =
    R"(# Judge: the cases of this run, and what changed: of a pull request since its merge base
branch=
[ -z "${GITHUB_HEAD_REF:-}${CI_MERGE_REQUEST_IID:-}" ] || branch="--branch auto"
check=0
trends=0
build/peakmark/bin/peakmark check build/run.json --junit build/junit.xml --markdown build/summary.md || check=$?
build/peakmark/bin/peakmark trends $branch --history "$HISTORY" --markdown build/trends.md || trends=$?
# check judges the whole run. A pull request answers for what it changes, which trends judges.
[ -z "$branch" ] || case $check in 1 | 3) check=0 ;; esac
[ "$check" = 0 ] || exit "$check"
exit "$trends"
)";
constexpr std::string_view kReportStep =
    R"sh(# Report. PEAKMARK_PYTHON of the runner, if it is set, has the packages already.
if [ -z "${PEAKMARK_PYTHON:-}" ]; then
  export PEAKMARK_PYTHON=build/peakmark/bin/python
  "$PEAKMARK_PYTHON" -m pip install -q --disable-pip-version-check -r "$("$PEAKMARK_PYTHON" -m peakmark.cmake_prefix)/share/peakmark/reports/requirements.txt"
fi
build/peakmark/bin/peakmark report -o build/report --history "$HISTORY"
)sh";

std::string indented(std::string_view text, int columns) {
  std::string result;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    result += (result.empty() ? "" : "\n") + std::string(static_cast<std::size_t>(columns), ' ') + line;
  }
  return result;
}

void replace_all(std::string& text, std::string_view mark, std::string_view with) {
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + with.size())) {
    text.replace(at, mark.size(), with);
  }
}

/// Replaces the marks of a template whose scripts begin in this column.
std::string filled(std::string text, const CiProject& project, int column, std::string_view runner) {
  text = with_installation(std::move(text), column);
  const std::pair<std::string_view, std::string_view> steps[] = {
      {"@BUILD@", kBuildStep},     {"@BALANCE@", kBalanceStep}, {"@PACK@", kPackStep},
      {"@MEASURE@", kMeasureStep}, {"@MERGE@", kMergeStep},     {"@ADD@", kAddStep},
      {"@JUDGE@", kJudgeStep},     {"@REPORT@", kReportStep}};
  for (const auto& [mark, step] : steps) replace_all(text, mark, indented(step, column));
  std::string shards = "1";
  for (int shard = 2; shard <= project.shards; ++shard) shards += fmt::format(", {}", shard);
  replace_all(text, "@SUITE@", shell_word(project.suite));
  replace_all(text, "@REQUIRE@", project.require.empty() ? "" : " --require " + project.require);
  replace_all(text, "@SHARDS@", std::to_string(project.shards));
  replace_all(text, "@SHARD_LIST@", shards);
  replace_all(text, "@WHEEL@", project.wheel);
  replace_all(text, "@RUNNER@", runner);
  return text;
}

}  // namespace

std::string with_installation(std::string text, int column) {
  replace_all(text, "@RUNTIME@", kRuntimePackages);
  replace_all(text, "@TOOLS@", kBuildPackages);
  replace_all(text, "@INSTALL@", indented(kInstallStep, column));
  return text;
}

std::string github_nightly(const CiProject& project) {
  return filled(std::string(embedded::nightly_yml()), project, 10,
                project.require.empty() ? "    runs-on: ubuntu-latest\n    container: debian:12\n"
                                        : "    runs-on: [self-hosted, gpu]  # the labels of your runners\n");
}

std::string gitlab_pipeline(const CiProject& project) {
  return filled(std::string(embedded::gitlab_ci_yml()), project, 6,
                project.require.empty() ? "  image: debian:12\n" : "  tags: [gpu]  # of your runners\n");
}

}  // namespace peakmark::cli
