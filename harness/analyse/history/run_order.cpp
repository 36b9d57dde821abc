#include "analyse/history/run_order.hpp"

#include <algorithm>
#include <unordered_map>

#include "analyse/trend/branches.hpp"

namespace peakmark::history {
namespace {

/// Returns a commit without the `+` of modified sources.
std::string plain_commit(const std::string& commit) {
  return commit.substr(0, commit.find('+'));
}

std::optional<std::size_t> find_commit(const std::vector<std::string>& commits, const std::string& commit) {
  const std::string plain = plain_commit(commit);
  const auto found = std::ranges::find_if(
      commits, [&](const std::string& one) { return trend::is_same_commit(one, plain); });
  if (found == commits.end()) return std::nullopt;
  return static_cast<std::size_t>(found - commits.begin());
}

}  // namespace

std::vector<std::size_t> run_order(const std::vector<RunPlace>& places) {
  std::unordered_map<std::int64_t, std::size_t> index_of;
  for (std::size_t i = 0; i < places.size(); ++i) index_of.emplace(places[i].number, i);
  std::unordered_map<std::size_t, std::vector<std::size_t>> placed_before;
  std::vector<std::size_t> by_arrival;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto other = places[i].before ? index_of.find(*places[i].before) : index_of.end();
    (other == index_of.end() ? by_arrival : placed_before[other->second]).push_back(i);
  }
  // A run is taken when all runs before it were taken. Not recursive, because each of many runs can be placed
  // before the last one.
  std::vector<std::size_t> order;
  order.reserve(places.size());
  std::vector<std::size_t> waiting(by_arrival.rbegin(), by_arrival.rend());
  while (!waiting.empty()) {
    const std::size_t run = waiting.back();
    if (auto others = placed_before.extract(run); !others.empty()) {
      waiting.insert(waiting.end(), others.mapped().rbegin(), others.mapped().rend());
      continue;
    }
    waiting.pop_back();
    order.push_back(run);
  }
  return order;
}

std::optional<std::size_t> first_descendant(const std::vector<std::string>& commits,
                                            const std::string& commit,
                                            const std::vector<std::string>& parents) {
  const std::optional<std::size_t> age = find_commit(parents, commit);
  if (!age || *age == 0) return std::nullopt;
  const std::vector<std::string> newer(parents.begin(), parents.begin() + static_cast<std::ptrdiff_t>(*age));
  const auto found = std::ranges::find_if(
      commits, [&](const std::string& one) { return find_commit(newer, one).has_value(); });
  if (found == commits.end()) return std::nullopt;
  return static_cast<std::size_t>(found - commits.begin());
}

namespace {

/// State of the thinning of a suite's runs.
struct Thinning {
  std::size_t runs = 0;
  std::size_t earlier = 0;  ///< number of runs before the newest ones; the newest are all kept
  std::size_t step = 1;     ///< one in this many of the earlier runs is kept
  std::size_t passed = 0;
};

}  // namespace

std::vector<bool> thinned_runs(const std::vector<std::string_view>& suites, std::size_t max_runs) {
  const std::size_t max_earlier = max_runs / 2;
  std::unordered_map<std::string_view, Thinning> thinnings;
  for (const std::string_view suite : suites) ++thinnings[suite].runs;
  for (auto& [suite, one] : thinnings) {
    if (one.runs <= max_runs) continue;
    one.earlier = one.runs - (max_runs - max_earlier);
    while ((one.earlier - 1) / one.step + 1 > max_earlier && one.step < one.earlier) one.step *= 2;
  }
  std::vector<bool> is_kept;
  is_kept.reserve(suites.size());
  for (const std::string_view suite : suites) {
    Thinning& one = thinnings.at(suite);
    is_kept.push_back(one.passed >= one.earlier || one.passed % one.step == 0);
    ++one.passed;
  }
  return is_kept;
}

}  // namespace peakmark::history
