#include "measure/compare/run_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>

#include "base/device_name.hpp"
#include "measure/runfile/case_pairs.hpp"
#include "measure/runfile/run_summary.hpp"
#include "measure/sweep/nearest_word.hpp"

namespace peakmark {
namespace {

bool passes_overlap(const Observation& one, const Observation& other) {
  const auto range = [](const Observation& observation) {
    const Size first = *observation.requested_peak_bytes;
    return std::minmax({first, observation.second_pass_peak_bytes.value_or(first)});
  };
  const auto [low, high] = range(one);
  const auto [other_low, other_high] = range(other);
  return low <= other_high && other_low <= high;
}

BytesComparison compare_bytes(const char* metric, const std::optional<Size>& base,
                              const std::optional<Size>& next) {
  BytesComparison bytes{metric, base, next, std::nullopt, std::nullopt, false, false, false, false, {}};
  if (!base || !next) return bytes;
  if (*base != 0) {
    bytes.relative = static_cast<double>(checked_subtract(*next, *base)) / static_cast<double>(*base);
  }
  bytes.change = *next == *base ? Change::same : *next > *base ? Change::grew : Change::shrank;
  return bytes;
}

std::vector<MetricComparison> compare_metrics(const Observation& base, const Observation& next) {
  std::map<std::string, MetricComparison> found;
  for (const auto& [name, value] : base.metrics) found[name].base = value;
  for (const auto& [name, value] : next.metrics) found[name].next = value;
  std::vector<MetricComparison> metrics;
  for (auto& [name, metric] : found) {
    metric.name = name;
    const auto direction = next.metric_directions.find(name);
    if (direction != next.metric_directions.end()) metric.direction = direction->second;
    metrics.push_back(std::move(metric));
  }
  return metrics;
}

/// `limits`: of the new side's suite.
CaseComparison compare_case(const Observation& base, const Observation& next, const GrowthAllowance& allowed,
                            const Limits& limits) {
  CaseComparison one;
  one.name = next.case_name;
  one.base_name = base.case_name;
  one.base_outcome = base.outcome;
  one.new_outcome = next.outcome;
  one.message = next.message;
  BytesComparison peak =
      compare_bytes("requested_peak_bytes", base.requested_peak_bytes, next.requested_peak_bytes);
  if (peak.change) {
    peak.unsteady = *peak.change != Change::same && passes_overlap(base, next);
    if (*peak.change != Change::same) peak.moved = moved_allocations(base.at_peak, next.at_peak);
    peak.too_small = limits.shrank_too_far(*peak.base, *peak.next);
  }
  one.bytes.push_back(std::move(peak));
  one.bytes.push_back(compare_bytes("setup_bytes", base.setup_bytes, next.setup_bytes));
  for (BytesComparison& bytes : one.bytes) {
    if (!bytes.change) continue;
    const bool is_option = allowed.covers(*bytes.base, *bytes.next);
    bytes.allowed_by_suite = !is_option && limits.covers_growth(*bytes.base, *bytes.next);
    bytes.allowed = is_option || bytes.allowed_by_suite;
  }
  one.bytes.push_back(compare_bytes("leaked_bytes", base.leaked_bytes, next.leaked_bytes));
  one.metrics = compare_metrics(base, next);
  return one;
}

ComparedSide make_side(const RunToCompare& run, const std::string& variant = {}) {
  const RunContext& context = run.run.context;
  return {run.file,
          variant,
          context.id,
          context.date,
          of_worker(context.commit, variant),
          of_worker(context.build, variant),
          of_worker(context.worker, variant),
          context.device,
          context.driver,
          context.platform,
          context.host_name};
}

/// A different driver version may give the same device another name. In that case only the driver differs.
bool is_same_device(const RunContext& base, const RunContext& next) {
  return base.device_class == next.device_class &&
         device_key(base.filed_under()) == device_key(next.filed_under());
}

bool is_same_platform(const RunContext& base, const RunContext& next) {
  return is_same_device(base, next) && base.backend == next.backend && base.platform == next.platform &&
         base.driver == next.driver;
}

std::string what_differs(const RunContext& base, const RunContext& next) {
  const struct {
    const char* what;
    const std::string& base;
    const std::string& next;
  } candidates[] = {
      {"device", base.filed_under(), is_same_device(base, next) ? base.filed_under() : next.filed_under()},
      {"backend", base.backend, next.backend},
      {"driver", base.driver, next.driver},
      {"platform", base.platform, next.platform},
      {"build type", base.build, next.build}};
  std::string text;
  for (const auto& one : candidates) {
    if (one.base == one.next) continue;
    text += fmt::format("{}{} '{}' and '{}'", text.empty() ? "" : "; ", one.what, one.base, one.next);
  }
  return text;
}

bool are_interleaved(const RunContext& base, const RunContext& next) {
  return base.rounds && next.rounds && base.rounds->job == next.rounds->job &&
         base.rounds->rounds == next.rounds->rounds && base.id != next.id;
}

void note_incomplete(RunComparison& comparison, const RunToCompare& run) {
  if (run.run.context.complete) return;
  comparison.notes.push_back(run.file + ": incomplete run; only its measured cases are compared");
}

using Observations = std::vector<const Observation*>;

using Plan = std::unordered_map<std::string_view, const PlannedCase*>;

/// Returns the level of a case: `incomplete` if the base has a peak and this observation has none.
OutcomeLevel level_in(const Plan& plan, const Observation& observation, const Observation& base) {
  if (observation.outcome == Outcome::ok && base.requested_peak_bytes && !observation.requested_peak_bytes)
    return OutcomeLevel::incomplete;
  const auto found = plan.find(observation.case_name);
  return found == plan.end() ? level_of(observation.outcome, false)
                             : level_of(*found->second, observation.outcome);
}

void note_throughput(RunComparison& comparison, const RunContext& base, const RunContext& next,
                     const std::vector<TimePair>& pairs) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    CaseComparison& one = comparison.cases[i];
    if (one.time && one.time->change) {  // matches the displayed times
      one.base_throughput = throughput_at(one.time->change->base_ns, *pairs[i].base, base);
      one.new_throughput = throughput_at(one.time->change->new_ns, *pairs[i].next, next);
    } else {
      one.base_throughput = throughput_of(*pairs[i].base, base);
      one.new_throughput = throughput_of(*pairs[i].next, next);
    }
    comparison.has_throughput = comparison.has_throughput || one.base_throughput.bytes_per_second ||
                                one.new_throughput.bytes_per_second;
  }
}

void fill(RunComparison& comparison, const RunContext& base_context, const Observations& base,
          const RunContext& new_context, const Observations& next, PairBy by,
          const std::optional<Rounds>& interleaved) {
  comparison.interleaved = interleaved.has_value();
  const CasePairs pairs = pair_cases(base, next, by);
  const Plan base_plan = planned_by_name(base_context);
  const Plan new_plan = planned_by_name(new_context);
  std::vector<TimePair> times;
  for (const auto& [base_place, new_place] : pairs.pairs) {
    const auto planned = new_plan.find(next[new_place]->case_name);
    const bool is_same_case = by == PairBy::variant_and_axes && planned != new_plan.end();
    comparison.cases.push_back(compare_case(*base[base_place], *next[new_place], comparison.allowed_growth,
                                            is_same_case ? planned->second->limits : Limits{}));
    comparison.cases.back().base_level = level_in(base_plan, *base[base_place], *base[base_place]);
    comparison.cases.back().new_level = level_in(new_plan, *next[new_place], *base[base_place]);
    times.push_back({base[base_place], next[new_place]});
  }
  const auto compared = compare_times(times, interleaved);
  for (std::size_t i = 0; i < compared.size(); ++i) comparison.cases[i].time = compared[i];
  note_throughput(comparison, base_context, new_context, times);
  for (const std::size_t place : pairs.only_base) comparison.only_base.push_back(base[place]->case_name);
  for (const std::size_t place : pairs.only_new) comparison.only_new.push_back(next[place]->case_name);
}

/// Adds a note for each variant whose versions differ between the two sides. Returns whether there is one.
bool note_new_series(RunComparison& comparison, const Observations& base, const Observations& next) {
  std::unordered_map<std::string_view, Size> versions;
  for (const Observation* const one : base) versions.emplace(one->case_name, one->version);
  std::set<std::string> notes;
  for (const Observation* const one : next) {
    const auto before = versions.find(one->case_name);
    if (before == versions.end() || before->second == one->version) continue;
    notes.insert(one->variant + ": " + new_series_text(before->second, one->version) + ", not compared");
  }
  comparison.notes.insert(comparison.notes.end(), notes.begin(), notes.end());
  return !notes.empty();
}

std::string first_name(const std::vector<std::string>& names) {
  return names.empty() ? "none" : names.front();
}

void check_common(const RunComparison& comparison) {
  if (!comparison.cases.empty()) return;
  throw UsageError(
      fmt::format("{} and {} have no case in common: the first are {} and {}; cases are paired by variant, "
                  "backend and all axes",
                  comparison.base.variant.empty() ? comparison.base.file : comparison.base.variant,
                  comparison.next.variant.empty() ? comparison.next.file : comparison.next.variant,
                  first_name(comparison.only_base), first_name(comparison.only_new)));
}

/// Returns the variant of the run that `name`, full or short, stands for.
std::string find_variant(const RunToCompare& run, const std::string& name) {
  std::set<std::string> all;
  for (const Observation& one : run.run.observations) all.insert(one.variant);
  const std::vector<std::string> known(all.begin(), all.end());
  std::string variant;
  try {
    variant = variant_meant_by(name, known);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", run.file, error.what()));
  }
  if (all.contains(variant)) return variant;
  throw UsageError(
      fmt::format("{}: no measured case of variant '{}'{}", run.file, name, suggest_word(name, known)));
}

}  // namespace

std::optional<double> MetricComparison::relative() const {
  if (!base || !next || *base == 0) return std::nullopt;
  return (*next - *base) / std::abs(*base);
}

bool BytesComparison::is_regression() const {
  if (unsteady) return false;
  return too_small || (change == Change::grew && !allowed && metric != "setup_bytes");
}

const BytesComparison* CaseComparison::find(std::string_view metric) const {
  const auto found = std::ranges::find(bytes, metric, &BytesComparison::metric);
  return found == bytes.end() ? nullptr : &*found;
}

bool CaseComparison::is_lost() const {
  if (!is_worse(base_level, new_level)) return false;
  return same_device || new_outcome != Outcome::unsupported;
}

bool CaseComparison::is_skipped() const {
  return base_outcome != Outcome::ok && new_outcome != Outcome::ok;
}

bool CaseComparison::is_regression() const {
  return is_lost() || std::ranges::any_of(bytes, &BytesComparison::is_regression) ||
         (time && time->verdict == TimeVerdict::slower);
}

bool CaseComparison::is_improvement() const {
  const BytesComparison* const peak = find("requested_peak_bytes");
  const bool shrank = peak != nullptr && peak->change == Change::shrank && !peak->unsteady;
  return shrank || (time && time->verdict == TimeVerdict::faster);
}

std::string_view to_string(ComparisonStatus status) {
  constexpr std::array<std::string_view, 7> names{"regressed", "suspicious", "improved", "changed",
                                                  "undecided", "same",       "skipped"};
  return names.at(static_cast<std::size_t>(status));
}

ComparisonStatus CaseComparison::status() const {
  if (is_regression()) return ComparisonStatus::regressed;
  if (time && time->verdict == TimeVerdict::suspicious) return ComparisonStatus::suspicious;
  if (is_improvement()) return ComparisonStatus::improved;
  const bool has_changed_bytes = std::ranges::any_of(
      bytes, [](const BytesComparison& one) { return one.change && *one.change != Change::same; });
  if (has_changed_bytes || base_outcome != new_outcome) return ComparisonStatus::changed;
  if (is_skipped()) return ComparisonStatus::skipped;
  const bool is_undecided =
      time && (time->verdict == TimeVerdict::undecided || time->verdict == TimeVerdict::not_comparable);
  return is_undecided ? ComparisonStatus::undecided : ComparisonStatus::same;
}

RunComparison compare_runs(const RunToCompare& base, const RunToCompare& next, bool force,
                           const GrowthAllowance& allowed) {
  RunComparison comparison;
  comparison.allowed_growth = allowed;
  const std::string difference = what_differs(base.run.context, next.run.context);
  if (!difference.empty() && !force) {
    throw UsageError(fmt::format("{} and {} cannot be compared: {}; --force compares them nevertheless",
                                 base.file, next.file, difference));
  }
  comparison.base = make_side(base);
  comparison.next = make_side(next);
  if (!difference.empty()) comparison.notes.push_back("different: " + difference);
  note_incomplete(comparison, base);
  note_incomplete(comparison, next);
  const bool interleaved = difference.empty() && are_interleaved(base.run.context, next.run.context);
  const Observations of_base = observations_of(base.run);
  const Observations of_next = observations_of(next.run);
  fill(comparison, base.run.context, of_base, next.run.context, of_next, PairBy::variant_and_axes,
       interleaved ? next.run.context.rounds : std::nullopt);
  for (CaseComparison& one : comparison.cases) {
    one.same_device = is_same_platform(base.run.context, next.run.context);
  }
  if (!note_new_series(comparison, of_base, of_next)) check_common(comparison);
  return comparison;
}

namespace {

/// Compares two variants of a run, given by their full names.
RunComparison compare_two_variants(const RunToCompare& run, const std::string& old_variant,
                                   const std::string& new_variant, const GrowthAllowance& allowed) {
  RunComparison comparison;
  comparison.allowed_growth = allowed;
  comparison.base = make_side(run, old_variant);
  comparison.next = make_side(run, new_variant);
  note_incomplete(comparison, run);
  std::optional<Rounds> rounds = run.run.context.rounds;
  // The confirmation pass of other variants does not count.
  const bool is_of_these = rounds && (rounds->variants == std::pair(old_variant, new_variant) ||
                                      rounds->variants == std::pair(new_variant, old_variant));
  if (rounds && !is_of_these) {
    rounds->two_passes = false;
    rounds->confirmation_pass.reset();
  }
  fill(comparison, run.run.context, observations_of(run.run, old_variant), run.run.context,
       observations_of(run.run, new_variant), PairBy::axes, rounds);
  return comparison;
}

}  // namespace

RunComparison compare_variants(const RunToCompare& run, const std::string& old_name,
                               const std::string& new_name, const GrowthAllowance& allowed) {
  RunComparison comparison =
      compare_two_variants(run, find_variant(run, old_name), find_variant(run, new_name), allowed);
  check_common(comparison);
  return comparison;
}

std::vector<RunComparison> compare_with_variant(const RunToCompare& run, const std::string& base_name) {
  const std::string base = find_variant(run, base_name);
  std::vector<RunComparison> comparisons;
  std::set<std::string_view> seen{base};
  for (const Observation& one : run.run.observations) {
    if (!seen.insert(one.variant).second) continue;
    const std::size_t operation = base.find('/') + 1;
    if (one.variant.compare(0, operation, base, 0, operation) == 0) {
      comparisons.push_back(compare_two_variants(run, base, one.variant, {}));
    } else {
      comparisons.emplace_back();
      comparisons.back().next = make_side(run, one.variant);
    }
  }
  return comparisons;
}

ExitCode exit_code_of(const RunComparison& comparison) {
  const bool has_measured = std::ranges::any_of(comparison.cases, [](const CaseComparison& one) {
    return one.new_outcome == Outcome::ok || one.is_lost();
  });
  if (!has_measured) return ExitCode::nothing;
  ExitCode code = ExitCode::clean;
  for (const CaseComparison& one : comparison.cases) {
    const bool has_ended = one.new_level == OutcomeLevel::incomplete ||
                           one.new_outcome == Outcome::out_of_memory ||
                           one.new_outcome == Outcome::unsupported;
    if (one.is_lost() && !has_ended) return ExitCode::measurement;
    if (one.is_regression()) code = ExitCode::verdict;
  }
  return code;
}

}  // namespace peakmark
