#include "analyse/trend/branches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/text.hpp"

namespace peakmark::trend {
namespace {

constexpr std::size_t kMinDigits = 7;

/// Returns the place of a commit in the list; null if it is not there.
std::optional<std::size_t> find_commit(const std::vector<std::string>& commits, const std::string& commit) {
  const auto found =
      std::ranges::find_if(commits, [&](const std::string& one) { return is_same_commit(one, commit); });
  if (found == commits.end()) return std::nullopt;
  return static_cast<std::size_t>(found - commits.begin());
}

/// A run of a branch and the run that it is compared with, as indices in the history. `older`: by how many
/// commits the compared run is older than the merge base.
struct Pair {
  std::size_t run = 0;
  std::optional<std::size_t> base;
  std::optional<std::size_t> older;
};

Pair find_base(const DeviceHistory& history, std::size_t run, const std::string& base_branch) {
  const HistoryRun& of_branch = history.runs[run];
  Pair nearest{run, {}, {}};
  std::optional<std::size_t> before;
  for (std::size_t i = 0; i < history.runs.size(); ++i) {
    const HistoryRun& one = history.runs[i];
    if (!is_of_base(one.branch, base_branch) || one.suite != of_branch.suite) continue;
    if (i < run) before = i;
    const auto older = find_commit(of_branch.base_commits, one.commit);
    // Of several runs of a commit, the newest is taken.
    if (older && (!nearest.older || *older <= *nearest.older)) {
      nearest.base = i;
      nearest.older = older;
    }
  }
  if (!nearest.base) nearest.base = before;
  return nearest;
}

}  // namespace

bool is_of_base(const std::string& branch, const std::string& base_branch) {
  return branch.empty() || branch == base_branch;
}

bool is_same_commit(std::string_view one, std::string_view other) {
  if (one.size() > other.size()) std::swap(one, other);
  return one.size() >= kMinDigits && other.starts_with(one) && !other.ends_with('+');
}

DeviceHistory compare_with_base(const DeviceHistory& history, const std::string& branch,
                                const std::string& base_branch) {
  std::map<std::string, std::size_t> newest;  // of each suite
  for (std::size_t i = 0; i < history.runs.size(); ++i) {
    if (history.runs[i].branch == branch) newest[history.runs[i].suite] = i;
  }
  std::map<std::string, Pair> pairs;
  std::optional<std::size_t> last;
  for (const auto& [suite, run] : newest) {
    const Pair pair = find_base(history, run, base_branch);
    if (pair.base) last = std::max(last.value_or(0), *pair.base);
    pairs.emplace(suite, pair);
  }
  std::vector<std::size_t> runs;
  for (std::size_t i = 0; last && i <= *last; ++i) {
    if (!is_of_base(history.runs[i].branch, base_branch)) continue;
    const auto pair = pairs.find(history.runs[i].suite);
    if (pair == pairs.end() || !pair->second.base || i > *pair->second.base) continue;
    runs.push_back(i);
  }
  std::vector<BaseRun> base_runs;
  base_runs.reserve(pairs.size());
  runs.reserve(runs.size() + pairs.size());
  for (const auto& [suite, pair] : pairs) {
    const HistoryRun& run = history.runs[pair.run];
    BaseRun base{branch, base_branch, suite, run.commit, {}, {}, pair.older};
    base.partial = run.partial;
    if (!run.base_commits.empty()) base.merge_base = run.base_commits.front();
    if (pair.base) base.run = std::ranges::find(runs, *pair.base) - runs.begin();
    base_runs.push_back(std::move(base));
  }
  for (const auto& [suite, pair] : pairs) runs.push_back(pair.run);
  DeviceHistory compared = with_runs(history, runs);
  for (std::size_t i = 0; i < base_runs.size(); ++i) {
    const std::size_t run = compared.runs.size() - base_runs.size() + i;
    base_runs[i].has_times = std::ranges::any_of(compared.series, [&](const Series& series) {
      return series.metric == metric::gpu_time_ns && series.values[run];
    });
  }
  compared.base_runs = std::move(base_runs);
  return compared;
}

namespace {

std::string base_text(const BaseRun& base, const DeviceHistory& history) {
  const auto quoted = [](const std::string& commit) {
    return commit.empty() ? std::string() : fmt::format(" ({})", short_commit(commit));
  };
  std::string text = fmt::format("suite {} of {}{}", base.suite, base.branch, quoted(base.commit));
  if (!base.run)
    return text + fmt::format(" is not compared: {} has no run of this suite before it", base.base_branch);
  const HistoryRun& run = history.runs[*base.run];
  text += fmt::format(" against {}", base.base_branch);
  if (base.older == 0) return text + fmt::format(" at its merge base {}", short_commit(base.merge_base));
  if (base.older) {
    return text + fmt::format(" at {}, {} before its merge base {}, which was not measured",
                              short_commit(run.commit), quantity(*base.older, "commit"),
                              short_commit(base.merge_base));
  }
  const std::string newest =
      fmt::format(" at its newest run before, of {}{}", run.date.substr(0, 10), quoted(run.commit));
  if (base.merge_base.empty()) return text + newest + ": the merge base is not known";
  return text + newest +
         fmt::format(": neither the merge base {} nor a known commit before it was measured",
                     short_commit(base.merge_base));
}

}  // namespace

std::string to_text(const BaseRun& base, const DeviceHistory& history) {
  return base_text(base, history) + (base.partial.empty() ? "" : "; partial: " + base.partial);
}

}  // namespace peakmark::trend
