#include "cli/ci_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "embedded_files.hpp"

namespace peakmark::cli {
namespace {

/// Packages that jobs install if they are root. The names are the same in every Debian and Ubuntu.
constexpr std::string_view kRuntimePackages =
    "git ca-certificates python3-venv ocl-icd-libopencl1 pocl-opencl-icd";
constexpr std::string_view kBuildPackages = "cmake g++ ninja-build ocl-icd-opencl-dev opencl-c-headers";

/// The actions of workflows, each with the commit of its version, because a tag can be moved to other code.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kActions{{
    {"CHECKOUT", "actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd # v6.0.2"},
    {"CACHE_RESTORE", "actions/cache/restore@27d5ce7f107fe9357f9df03efb73ab90386fccae # v5.0.5"},
    {"CACHE_SAVE", "actions/cache/save@27d5ce7f107fe9357f9df03efb73ab90386fccae # v5.0.5"},
    {"UPLOAD", "actions/upload-artifact@b7c566a772e6b6bfb58ed0dc250532a479d7789f # v6.0.0"},
    {"DOWNLOAD", "actions/download-artifact@37930b1c2abaa49bbe596cd826c3c89aef350131 # v7.0.0"},
    {"UPLOAD_PAGES", "actions/upload-pages-artifact@fc324d3547104276b827a68afc52ff2a11cc49c9 # v5.0.0"},
    {"DEPLOY_PAGES", "actions/deploy-pages@cd2ce8fcbc39b97be8ca5fce6e763baed58fa128 # v5.0.0"},
}};

// A pull request from a fork can run anybody's code. Hosted runners are deleted after each job; own runners
// are not.
constexpr std::string_view kHostedRunner = "    runs-on: ubuntu-latest\n    container: debian:12\n";
constexpr std::string_view kOwnRunner = "    runs-on: [self-hosted, gpu]  # the labels of your runners\n";
constexpr std::string_view kAboutOwnRunner = R"(#
# It measures on runners of your own. Whoever may open a pull request could run code there, so those from forks are not measured: the
# job `fork` fails instead. Keep that condition, and let GitHub ask before it runs workflows of forks (Settings, Actions, General).
)";
constexpr std::string_view kForkGuard =
    "    if: github.event_name != 'pull_request' || github.event.pull_request.head.repo.full_name == "
    "github.repository\n";
constexpr std::string_view kForkJob = R"(  # What was not measured is not green.
  fork:
    if: github.event_name == 'pull_request' && github.event.pull_request.head.repo.full_name != github.repository
    runs-on: ubuntu-latest
    timeout-minutes: 5
    permissions: {}
    steps:
      - name: Not measured
        run: |
          echo "not measured: a pull request from a fork; to measure it on your runners, read it, then push it to a branch of this repository" >&2
          exit 4
)";

// Steps for both systems. They run with `sh -e`; the commands of a later step need only what is in the files.
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
constexpr std::string_view kTimesStep =
    R"sh(# Times: base and head of the pull request, built as in Build, and measured interleaved on this machine
PEAKMARK_PREFIX=$(build/peakmark/bin/python -m peakmark.cmake_prefix)
export PEAKMARK_PREFIX
build/peakmark/bin/peakmark compare @SUITE@@REQUIRE@ --commits "${CI_MERGE_REQUEST_DIFF_BASE_SHA:-HEAD^1}" HEAD -o build/times --markdown build/times.md --build-command '
  cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$PEAKMARK_PREFIX" -DCMAKE_BUILD_RPATH_USE_ORIGIN=ON &&
  cmake --build build'
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
@PASSES@build/peakmark/bin/peakmark run @SUITE@@REQUIRE@@FILED@ --shard "$SHARD/@SHARDS@" $balance -o "build/shard-$SHARD.json"
)";
/// Hosted runners have many types of CPU, and share each with others: bytes are the same on all, times are
/// not judged.
constexpr std::string_view kHostedPasses = R"(memory_only=
[ -z "${GITHUB_HEAD_REF:-}${CI_MERGE_REQUEST_IID:-}" ] || memory_only=--memory-only
)";
constexpr std::string_view kHostedFiled = " --device-class hosted-cpu $memory_only";
constexpr std::string_view kTimesNotGated =
    R"([ -z "$branch" ] || printf '\n%s\n' "Times are not gated: no device for times is named; peakmark init ci --require gpu names one." | tee -a build/trends.md
)";
constexpr std::string_view kMergeStep =
    R"(# Merge: names the shards that are missing, and keeps the others; Judge fails for them
tar -xf build/built.tar
build/peakmark/bin/peakmark merge build/shard-*.json -o build/run.json || [ $? = 3 ]
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
build/peakmark/bin/peakmark check build/run.json --history "$HISTORY" --junit build/junit.xml --markdown build/summary.md || check=$?
build/peakmark/bin/peakmark trends $branch --history "$HISTORY" --markdown build/trends.md || trends=$?
# check judges the whole run. A pull request answers for what it changes, which trends judges.
[ -z "$branch" ] || case $check in 1 | 3) check=0 ;; esac
@ABOUT_TIMES@[ "$check" = 0 ] || exit "$check"
exit "$trends"
)";
constexpr std::string_view kCommentStep =
    R"sh(# Comment: the first line of trends.md is not shown; the comment that begins with it is updated
printf '\n[Page and files](%s)\n' "$RUN" >>build/trends.md
MARKER=$(head -n 1 build/trends.md)
export MARKER
comments=repos/$GITHUB_REPOSITORY/issues/$PULL/comments
own='.[] | select(.user.login == "github-actions[bot]" and (.body | startswith(env.MARKER))) | .id'
found=$(gh api --paginate "$comments?per_page=100" --jq "$own")
if [ -n "$found" ]; then
  first=$(printf '%s\n' "$found" | head -n 1)
  gh api --silent --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$first" --field body=@build/trends.md
else
  gh api --silent --method POST "$comments" --field body=@build/trends.md
fi
)sh";
constexpr std::string_view kNoteStep =
    R"sh(# Comment: the first line of trends.md is not shown; the comment that begins with it is updated
printf '\n[Page and files](%s)\n' "$CI_PIPELINE_URL" >>build/trends.md
api() {
  printf 'PRIVATE-TOKEN: %s\n' "$PEAKMARK_COMMENT_TOKEN" | curl --silent --show-error --fail --header @- "$@"
}
notes=$CI_API_V4_URL/projects/$CI_PROJECT_ID/merge_requests/$CI_MERGE_REQUEST_IID/notes
api "$CI_API_V4_URL/user" >build/user.json
page=1
while :; do
  api "$notes?per_page=100&page=$page" >build/notes.json
  found=$(python3 -c '
import json
marker = open("build/trends.md", encoding="utf-8").readline().strip()
user = json.load(open("build/user.json", encoding="utf-8"))["id"]
for note in json.load(open("build/notes.json", encoding="utf-8")):
    if note["author"]["id"] == user and note["body"].startswith(marker):
        print(note["id"])
        break
')
  if [ -n "$found" ] || [ "$(cat build/notes.json)" = "[]" ]; then break; fi
  page=$((page + 1))
done
if [ -n "$found" ]; then
  api --output build/note.json --request PUT --data-urlencode body@build/trends.md "$notes/$found"
else
  api --output build/note.json --request POST --data-urlencode body@build/trends.md "$notes"
fi
)sh";
constexpr std::string_view kReportStep =
    R"sh(# Report. PEAKMARK_PYTHON of the runner, if it is set, has the packages already.
if [ -z "${PEAKMARK_PYTHON:-}" ]; then
  export PEAKMARK_PYTHON=build/peakmark/bin/python
  "$PEAKMARK_PYTHON" -m pip install -q --disable-pip-version-check -r "$("$PEAKMARK_PYTHON" -m peakmark.cmake_prefix)/share/peakmark/reports/requirements.txt"
fi
build/peakmark/bin/peakmark report -o build/report@FORMS@ --history "$HISTORY"
)sh";

std::string indented(std::string_view text, int columns) {
  std::string result;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    result += (result.empty() ? "" : "\n") + std::string(static_cast<std::size_t>(columns), ' ') + line;
  }
  return result;
}

/// Returns the mark that begins here, including its two `@`; empty if there is none.
std::string_view mark_at(std::string_view text, std::size_t at) {
  const std::size_t end = text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_", at + 1);
  const bool is_mark = end != std::string_view::npos && text[end] == '@' && end > at + 1;
  return is_mark ? text.substr(at, end + 1 - at) : std::string_view();
}

/// Returns `text` with its marks replaced. Replacements are not searched for marks, because they may be file
/// names.
std::string with_marks(std::string_view text, const Marks& marks) {
  std::string filled;
  for (std::size_t at = text.find('@'); at != std::string_view::npos; at = text.find('@')) {
    filled += text.substr(0, at);
    const std::string_view mark = mark_at(text, at);
    text.remove_prefix(at + std::max<std::size_t>(mark.size(), 1));
    if (mark.empty()) {
      filled += '@';
      continue;
    }
    const auto found = marks.find(mark.substr(1, mark.size() - 2));
    if (found == marks.end()) throw std::logic_error(fmt::format("no text for the mark {}", mark));
    filled += found->second;
  }
  return filled + std::string(text);
}

/// Returns a file name as a part of a cache's key.
std::string key_part(const std::string& name) {
  std::string part = name;
  std::ranges::replace_if(
      part, [](unsigned char letter) { return std::isalnum(letter) == 0 && letter != '.' && letter != '_'; },
      '-');
  return part;
}

std::string filled(std::string_view text, const CiProject& project, Marks marks, int column) {
  const bool is_hosted = project.require.empty();
  std::string shards = "1";
  for (int shard = 2; shard <= project.shards; ++shard) shards += fmt::format(", {}", shard);
  marks["SUITE"] = script_word(project.suite);
  marks["REQUIRE"] = project.require.empty() ? "" : " --require " + project.require;
  marks["PASSES"] = is_hosted ? kHostedPasses : "";
  marks["FILED"] = is_hosted ? kHostedFiled : "";
  marks["ABOUT_TIMES"] = is_hosted ? kTimesNotGated : "";
  marks["JUDGED_TIMES"] = is_hosted ? "times are not gated: no device for them is named"
                                    : "`times` compares the times of base and head, interleaved";
  marks["SHARDS"] = std::to_string(project.shards);
  marks["SHARD_LIST"] = shards;
  marks["WHEEL"] = project.wheel;
  marks["CACHE"] = "peakmark-history-" + key_part(project.suite);
  const std::pair<const char*, std::string_view> steps[] = {
      {"BUILD", kBuildStep}, {"BALANCE", kBalanceStep}, {"PACK", kPackStep},   {"MEASURE", kMeasureStep},
      {"MERGE", kMergeStep}, {"ADD", kAddStep},         {"JUDGE", kJudgeStep}, {"REPORT", kReportStep},
      {"TIMES", kTimesStep}, {"COMMENT", kCommentStep}, {"NOTE", kNoteStep}};
  for (const auto& [name, step] : steps) marks[name] = indented(with_marks(step, marks), column);
  return fill_workflow(text, std::move(marks), column);
}

}  // namespace

Marks runner_marks(Runner runner) {
  if (runner == Runner::hosted) {
    return {
        {"RUNNER", std::string(kHostedRunner)}, {"FORK_JOB", ""}, {"FORK_GUARD", ""}, {"ABOUT_RUNNER", ""}};
  }
  return {{"RUNNER", std::string(kOwnRunner)},
          {"FORK_JOB", std::string(kForkJob)},
          {"FORK_GUARD", std::string(kForkGuard)},
          {"ABOUT_RUNNER", std::string(kAboutOwnRunner)}};
}

std::string fill_workflow(std::string_view text, Marks marks, int column) {
  marks["RUNTIME"] = kRuntimePackages;
  marks["TOOLS"] = kBuildPackages;
  marks["INSTALL"] = indented(kInstallStep, column);
  for (const auto& [name, action] : kActions) marks[std::string(name)] = action;
  return with_marks(text, marks);
}

std::string github_nightly(const CiProject& project) {
  const bool is_hosted = project.require.empty();
  Marks marks = runner_marks(is_hosted ? Runner::hosted : Runner::own);
  marks["FORMS"] = "";
  marks["TIMES_JOB"] = is_hosted ? "" : filled(embedded::times_yml(), project, marks, 10);
  return filled(embedded::nightly_yml(), project, std::move(marks), 10);
}

std::string gitlab_pipeline(const CiProject& project) {
  Marks marks{
      {"RUNNER", project.require.empty() ? "  image: debian:12\n" : "  tags: [gpu]  # of your runners\n"},
      {"FORMS",
       " --gitlab-metrics build/metrics.txt --gitlab-code-quality build/quality.json "
       "--code-quality-path " +
           script_word(project.suite)}};
  marks["TIMES_JOB"] = project.require.empty() ? "" : filled(embedded::gitlab_times_yml(), project, marks, 6);
  return filled(embedded::gitlab_ci_yml(), project, std::move(marks), 6);
}

}  // namespace peakmark::cli
