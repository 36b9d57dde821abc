#include "analyse/history/run_limits.hpp"

#include <unordered_map>

namespace peakmark::history {
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
