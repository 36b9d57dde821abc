#include <algorithm>
#include <set>

#include "runfile/run_file.hpp"
#include "trend/change_finders.hpp"

namespace peakmark::trend {
namespace {

std::optional<std::string> known(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return text;
}

std::optional<std::string> find(const std::map<std::string, std::string>& environment,
                                const std::string& key) {
  const auto found = environment.find(key);
  if (found == environment.end()) return std::nullopt;
  return found->second;
}

class Comparison {
 public:
  Comparison(std::size_t run, std::vector<EnvironmentChange>& changes) : run_(run), changes_(changes) {}
  void look(const std::string& what, const std::optional<std::string>& before,
            const std::optional<std::string>& after) {
    if (before != after) changes_.push_back({run_, what, before, after});
  }

 private:
  std::size_t run_;
  std::vector<EnvironmentChange>& changes_;
};

void compare(const HistoryRun& before, const HistoryRun& after, Comparison comparison) {
  comparison.look("driver", known(before.driver), known(after.driver));
  comparison.look("platform", known(before.platform), known(after.platform));
  comparison.look("build", known(before.build), known(after.build));
  comparison.look("host", known(before.host_name), known(after.host_name));
  std::set<std::string> keys;
  for (const auto* environment : {&before.environment, &after.environment}) {
    for (const auto& [key, value] : *environment) keys.insert(key);
  }
  for (const std::string& key : keys) {
    if (std::ranges::find(environment_key::of_the_moment, key) != environment_key::of_the_moment.end())
      continue;
    comparison.look(key, find(before.environment, key), find(after.environment, key));
  }
}

}  // namespace

std::vector<EnvironmentChange> find_environment_changes(const std::vector<HistoryRun>& runs) {
  std::vector<EnvironmentChange> changes;
  for (std::size_t run = 1; run < runs.size(); ++run) {
    compare(runs[run - 1], runs[run], Comparison(run, changes));
  }
  return changes;
}

}  // namespace peakmark::trend
