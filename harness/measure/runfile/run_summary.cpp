#include "measure/runfile/run_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "base/text.hpp"

namespace peakmark {

namespace {

using Property = bool(const PlannedCase&, const Observation&);

using Counts = std::map<std::string_view, std::size_t>;

std::size_t total(const Counts& counts) {
  std::size_t sum = 0;
  for (const auto& [outcome, count] : counts) sum += count;
  return sum;
}

/// Returns `1 out_of_memory, 1 unsupported`.
std::string list_of(const Counts& counts) {
  std::string text;
  for (const auto& [outcome, count] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, outcome);
  }
  return text;
}

/// Returns whether a planned case of the run has the property.
bool any_of(const Run& run, Property* property) {
  const auto planned = planned_by_name(run.context);
  return std::any_of(run.observations.begin(), run.observations.end(), [&](const Observation& observation) {
    const auto found = planned.find(observation.case_name);
    return found != planned.end() && property(*found->second, observation);
  });
}

// `check` lists all of them.
constexpr std::size_t kMaxNamed = 5;

}  // namespace

CaseEnd end_of(const PlannedCase& planned, const Observation& observation) {
  if (observation.outcome == Outcome::ok) return CaseEnd::measured;
  if (observation.outcome == Outcome::unsupported) return CaseEnd::skipped;
  if (to_string(observation.outcome) == planned.expected_outcome) return CaseEnd::as_expected;
  return observation.outcome == Outcome::out_of_memory ? CaseEnd::skipped : CaseEnd::failed;
}

std::unordered_map<std::string_view, const PlannedCase*> planned_by_name(const RunContext& context) {
  std::unordered_map<std::string_view, const PlannedCase*> planned;
  for (const PlannedCase& one : context.planned) planned.emplace(one.name, &one);
  return planned;
}

OutcomeLevel level_of(const PlannedCase& planned, Outcome outcome) {
  return level_of(outcome, planned.expected_outcome == to_string(outcome));
}

std::string text_of(CaseEnd end, Outcome outcome) {
  const std::string name(to_string(outcome));
  if (end == CaseEnd::as_expected) return "as expected (" + name + ")";
  return end == CaseEnd::skipped ? "skipped (" + name + ")" : name;
}

std::string reason_of(const Observation& observation) {
  const std::string outcome(to_string(observation.outcome));
  return observation.message.empty() ? outcome : outcome + ": " + observation.message;
}

bool is_failure(const PlannedCase& planned, const Observation& observation) {
  return end_of(planned, observation) == CaseEnd::failed;
}

std::string summary(const Run& run) {
  const auto planned = planned_by_name(run.context);
  std::map<CaseEnd, Counts> ends;
  for (const Observation& observation : run.observations) {
    const auto found = planned.find(observation.case_name);
    const CaseEnd end = end_of(found == planned.end() ? PlannedCase{} : *found->second, observation);
    ++ends[end][to_string(observation.outcome)];
  }
  std::string text = quantity(run.observations.size(), "case") + ": ";
  const char* separator = "";
  for (const CaseEnd end : {CaseEnd::measured, CaseEnd::failed}) {
    if (!ends.contains(end)) continue;
    text += separator + list_of(ends[end]);
    separator = ", ";
  }
  for (const auto& [end, name] :
       {std::pair{CaseEnd::as_expected, "as expected"}, {CaseEnd::skipped, "skipped"}}) {
    if (!ends.contains(end)) continue;
    text += fmt::format("{}{} {} ({})", separator, total(ends[end]), name, list_of(ends[end]));
    separator = ", ";
  }
  return text;
}

bool has_measurement(const Run& run) {
  return any_of(run, [](const PlannedCase& planned, const Observation& observation) {
    return end_of(planned, observation) != CaseEnd::skipped;
  });
}

bool is_unmeasured(const Run& run) {
  return !run.context.shard && !has_measurement(run);
}

ExitCode exit_code_of(const Run& run) {
  if (is_unmeasured(run)) return ExitCode::nothing;
  return any_of(run, is_failure) ? ExitCode::measurement : ExitCode::clean;
}

std::optional<double> records_over_events(const Observation& observation) {
  if (!observation.gpu_time || observation.gpu_time->median_ns < kMinComparedNs) return std::nullopt;
  if (observation.kernels.size() != 1 || observation.kernels.front().count != 1) return std::nullopt;
  return static_cast<double>(observation.kernels.front().ns) / observation.gpu_time->median_ns;
}

std::string kernel_time_warning(const Run& run) {
  std::size_t apart = 0;
  std::string names;
  for (const Observation& observation : run.observations) {
    const std::optional<double> ratio = records_over_events(observation);
    if (!ratio || kRecordsAgree.contains(*ratio)) continue;
    if (++apart <= kMaxNamed) names += fmt::format("\n  {} ({:.2f})", observation.case_name, *ratio);
  }
  if (apart == 0) return {};
  if (apart > kMaxNamed) names += fmt::format("\n  and {} more", apart - kMaxNamed);
  return fmt::format(
      "{}: kernel records and device events differ by more than 5 %, so these times are not "
      "reliable (records over events):{}",
      quantity(apart, "case"), names);
}

std::vector<PeakGroup> group_peak(const std::vector<PeakEntry>& entries) {
  std::vector<PeakGroup> groups;
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> places;
  for (const PeakEntry& entry : entries) {
    const auto [place, is_new] = places.try_emplace({entry.name, entry.kind}, groups.size());
    if (is_new) groups.push_back({entry.name, entry.kind});
    PeakGroup& group = groups[place->second];
    ++group.count;
    group.bytes = checked_add(group.bytes, entry.bytes);
    group.largest_bytes = std::max(group.largest_bytes, entry.bytes);
  }
  std::ranges::stable_sort(groups, std::ranges::greater(), &PeakGroup::bytes);
  return groups;
}

std::string to_text(const PeakGroup& group) {
  const std::string& name = group.name.empty() ? group.kind : group.name;
  if (group.count == 1) return fmt::format("{} {}", name, format_size(group.bytes));
  return fmt::format("{} × {}, largest {}", group.count, name, format_size(group.largest_bytes));
}

}  // namespace peakmark
