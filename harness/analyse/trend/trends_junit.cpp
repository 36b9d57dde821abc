#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "analyse/trend/finding_text.hpp"
#include "analyse/trend/findings.hpp"
#include "analyse/trend/reports.hpp"
#include "measure/check/junit_tests.hpp"

namespace peakmark::trend {
namespace {

/// Returns the cases with a peak in the last run that planned them.
std::set<std::string_view> measured_cases(const DeviceHistory& history) {
  std::map<std::string_view, std::size_t> last_run;
  for (const CaseOutcomes& one : history.outcomes) {
    if (const auto last = one.last_planned()) last_run.emplace(one.case_name, *last);
  }
  std::set<std::string_view> measured;
  for (const Series& one : history.series) {
    const auto last = last_run.find(one.case_name);
    if (one.metric == metric::requested_peak_bytes && last != last_run.end() && one.values[last->second])
      measured.insert(one.case_name);
  }
  return measured;
}

/// Returns the lines of the changes that need action, by case.
std::map<std::string_view, std::vector<std::string>> change_lines(const DeviceTrends& device) {
  std::map<std::string_view, std::vector<const Change*>> changes;
  for (const Change& one : device.trends.changes) {
    if (needs_action(one)) changes[one.case_name].push_back(&one);
  }
  std::map<std::string_view, std::vector<std::string>> lines;
  for (const auto& [name, of_case] : changes) {
    for (Finding& one : find_findings(of_case))
      lines[name].push_back(summary_text(join_findings({{&device, std::move(one)}})));
  }
  return lines;
}

JunitTest::Result result(const CaseStatus& status, bool is_measured) {
  if (status.state == CaseState::as_on_base) return JunitTest::Result::passed;
  // Bytes are judged from the second run on, times later: a case with bytes passes.
  const bool is_unknown = status.state == CaseState::is_new || status.state == CaseState::young;
  return is_unknown && !is_measured ? JunitTest::Result::skipped : junit_result(status.judgement);
}

void set_texts(JunitTest& test, const CaseStatus& status, const std::vector<std::string>& changes) {
  std::vector<std::string> lines = status.reasons();
  lines.insert(lines.end(), changes.begin(), changes.end());
  const std::string state(to_string(status.state));
  if (test.result == JunitTest::Result::passed) {
    if (status.state < CaseState::young) lines.insert(lines.begin(), state);
    test.message = fmt::format("{}", fmt::join(lines, "\n"));
    return;
  }
  if (lines.empty()) lines.push_back(status.state == CaseState::young ? "not enough data" : state);
  test.type = state;
  test.message = lines.front();
  test.details = fmt::format("{}", fmt::join(lines, "\n"));
}

}  // namespace

std::string trends_junit(const std::vector<DeviceTrends>& devices) {
  JunitSuite suite{"peakmark trends", {}};
  for (const DeviceTrends& device : devices) {
    const std::set<std::string_view> measured = measured_cases(*device.history);
    auto changes = change_lines(device);
    for (const CaseStatus& status : device.statuses) {
      JunitTest& test = suite.tests.emplace_back();
      test.name = status.case_name;
      if (devices.size() > 1)
        test.name += fmt::format(" on {} ({})", device.history->device, device.history->backend);
      test.class_name = junit_class_name(variant_name(status.case_name));
      test.result = result(status, measured.contains(status.case_name));
      set_texts(test, status, changes[status.case_name]);
    }
  }
  return junit_text(suite);
}

}  // namespace peakmark::trend
