#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "measure/check/junit_tests.hpp"
#include "measure/check/reports.hpp"

namespace peakmark {
namespace {

JunitProperties properties(const JudgedCase& judged) {
  const Observation& observation = *judged.observation;
  JunitProperties all{{"outcome", std::string(to_string(observation.outcome))}};
  if (observation.requested_peak_bytes)
    all.emplace_back("requested_peak_bytes", std::to_string(*observation.requested_peak_bytes));
  if (observation.setup_bytes) all.emplace_back("setup_bytes", std::to_string(*observation.setup_bytes));
  if (observation.gpu_time)
    all.emplace_back("gpu_time_ns", fmt::format("{:.0f}", observation.gpu_time->median_ns));
  for (const auto& [name, value] : observation.metrics) all.emplace_back(name, fmt::format("{}", value));
  for (const Rule rule : {Rule::window_slices, Rule::window_bytes, Rule::kernel_time, Rule::baseline}) {
    const auto figure = judged.figure(rule);
    if (figure) all.emplace_back(to_string(rule), fmt::format("{:.6f}", *figure));
  }
  return all;
}

/// Returns the options for growth and tolerance if one of them is set.
JunitProperties properties(const JudgeOptions& options) {
  if (notes_on(options).empty()) return {};
  return {{"allow_growth", options.allowed_growth.text},
          {"window_tolerance_bytes", std::to_string(options.window_tolerance)}};
}

/// Returns why the estimates of a case are wrong; empty if none failed.
std::string cause_text(const JudgedCase& judged, const std::vector<EstimateCauses>& causes) {
  const bool is_failed = std::ranges::any_of(judged.verdicts, [](const Verdict* verdict) {
    return is_window(verdict->rule) && verdict->judgement == Judgement::fail;
  });
  const auto of_variant = std::ranges::find(causes, judged.variant(), &EstimateCauses::variant);
  return is_failed && of_variant != causes.end() ? of_variant->text : std::string();
}

/// Sets the result and its text. JUnit readers expect at most one result for each test, so it contains the
/// texts of all verdicts.
void set_result(JunitTest& test, const JudgedCase& judged, const std::vector<EstimateCauses>& causes) {
  const Verdict* worst = judged.worst();
  if (worst == nullptr) return;
  test.result = junit_result(worst->judgement);
  if (test.result == JunitTest::Result::passed) {
    for (const Verdict* const verdict : judged.verdicts) {
      if (verdict->judgement == Judgement::pass) continue;
      test.message +=
          fmt::format("{}: {}: {}\n", label(verdict->judgement), to_string(verdict->rule), verdict->advice);
    }
    return;
  }
  test.type = to_string(worst->rule);
  test.message = worst->advice;
  for (const Verdict* const verdict : judged.verdicts) {
    if (verdict->judgement >= Judgement::fail)
      test.details += fmt::format("{}: {}\n", to_string(verdict->rule), verdict->advice);
  }
  test.details += cause_text(judged, causes);
}

}  // namespace

std::string junit(const Run& run, const std::vector<Verdict>& verdicts, const JudgeOptions& options,
                  const std::vector<EstimateCauses>& causes) {
  JunitSuite suite{run.context.suite, {}, run.context.date, run.context.host_name, properties(options), ""};
  for (const JudgedCase& judged : by_case(run, verdicts)) {
    JunitTest& test = suite.tests.emplace_back();
    test.name = judged.name;
    test.class_name = junit_class_name(judged.variant());
    set_result(test, judged, causes);
    if (judged.observation == nullptr) continue;
    test.properties = properties(judged);
    if (judged.observation->gpu_time) test.seconds = judged.observation->gpu_time->median_ns * 1e-9;
  }
  for (const EstimateCauses& one : causes) suite.output += one.text;
  return junit_text(suite);
}

}  // namespace peakmark
