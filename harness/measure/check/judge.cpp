#include "measure/check/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "base/difference.hpp"
#include "base/size.hpp"
#include "base/text.hpp"
#include "measure/check/baseline.hpp"
#include "measure/runfile/import_results.hpp"
#include "measure/runfile/merge.hpp"
#include "measure/runfile/run_summary.hpp"
#include "measure/sweep/nearest_word.hpp"
#include "record/profile/call_sites.hpp"

namespace peakmark {
namespace {

/// Returns `50 bytes left by each of 8 calls: cache (buffer), padding.py:7`, with all leaks.
std::string call_leaks_text(const Observation& observation) {
  const std::int64_t calls = observation.repeated_calls.value_or(0);
  std::string text;
  for (const CallLeak& leak : observation.call_leaks) {
    text += text.empty() ? "" : "; ";
    text += leak.bytes_per_call
                ? fmt::format("{} left by each of {} calls", quantity(*leak.bytes_per_call, "byte"), calls)
                : fmt::format("{} left by the first {} calls", quantity(leak.bytes, "byte"), calls - 1);
    text += fmt::format(": {} ({}){}", leak.name.empty() ? "(unnamed)" : leak.name, leak.kind,
                        leak.where.empty() ? "" : ", " + own_lines(leak.where));
  }
  return text;
}

/// Appends the verdicts on one case to a list.
class CaseJudge {
 public:
  CaseJudge(const PlannedCase& planned, const JudgeOptions& options, std::vector<Verdict>& verdicts)
      : planned_(planned),
        window_(options.window.value_or(planned.window)),
        window_tolerance_(options.window_tolerance),
        verdicts_(verdicts) {}

  /// `is_imported`: the run is from another program, which recorded no memory and asked no estimators.
  void judge(const Observation* observation, bool is_imported) {
    if (observation == nullptr) {
      add(Rule::present, Judgement::failed_measurement,
          "no observation in the run: finish it with `peakmark run --resume`");
      return;
    }
    add(Rule::present, Judgement::pass);
    if (!judge_outcome(*observation) || is_imported) return;
    judge_memory(*observation);
    judge_times(*observation);
    judge_limits(*observation);
    judge_estimates(*observation);
  }

 private:
  /// Returns true if the case was measured, so that its figures can be judged.
  bool judge_outcome(const Observation& observation) {
    const bool is_expected = planned_.expected_outcome == to_string(observation.outcome);
    switch (end_of(planned_, observation)) {
      case CaseEnd::measured:
        if (is_expected) {
          add(Rule::outcome, observation.message.empty() ? Judgement::pass : Judgement::warning,
              observation.message);
        } else {
          add(Rule::outcome, Judgement::fail,
              fmt::format(
                  "expected {}, but the case succeeded: correct `expect` in the suite, or find out why",
                  planned_.expected_outcome));
        }
        return true;
      case CaseEnd::as_expected:
        add(Rule::outcome, Judgement::as_expected, reason_of(observation));
        return false;
      case CaseEnd::skipped:
        add(Rule::outcome, Judgement::skipped, reason_of(observation) + note_on_expectation(observation));
        return false;
      case CaseEnd::failed:
        break;
    }
    add(Rule::outcome, Judgement::failed_measurement, reason_of(observation));
    return false;
  }

  /// The text before the first colon stays unchanged, because headlines group cases by it.
  std::string note_on_expectation(const Observation& observation) const {
    if (planned_.expected_outcome != to_string(observation.outcome)) return "";
    return observation.message.empty() ? ": as the suite expects" : " (as the suite expects)";
  }

  void judge_memory(const Observation& observation) {
    if (!observation.call_leaks.empty()) {
      add(Rule::leak, Judgement::fail, call_leaks_text(observation), "",
          static_cast<double>(observation.call_leaks.front().bytes));
    } else if (observation.peak_drift_bytes) {
      const Size drift = *observation.peak_drift_bytes;
      add(Rule::leak, Judgement::fail,
          fmt::format("the peak of a call drifts: {} more in the second half of {} calls",
                      quantity(drift, "byte"), observation.repeated_calls.value_or(0)),
          "", static_cast<double>(drift));
    } else if (observation.leaked_bytes) {
      const Size leaked = *observation.leaked_bytes;
      add(Rule::leak, leaked == 0 ? Judgement::pass : Judgement::fail,
          leaked == 0
              ? ""
              : quantity(leaked, "byte", "bytes") + " live after the case: an allocation is never released",
          "", static_cast<double>(leaked));
    } else if (observation.repeated_calls) {
      add(Rule::leak, Judgement::pass);
    }
    if (observation.requested_peak_bytes && observation.second_pass_peak_bytes) {
      const Size moved = *observation.second_pass_peak_bytes - *observation.requested_peak_bytes;
      std::string advice;
      if (moved != 0) {
        advice = fmt::format("peaks differ: {} bytes in the first memory pass, {} in the second",
                             *observation.requested_peak_bytes, *observation.second_pass_peak_bytes);
        for (const std::string& allocation : observation.moved_allocations) advice += "; " + allocation;
      }
      add(Rule::repeat, moved == 0 ? Judgement::pass : Judgement::warning, std::move(advice), "",
          static_cast<double>(moved));
    }
  }

  /// A warning only: the clocks may have changed between records and events, and bytes are not affected.
  void judge_times(const Observation& observation) {
    const std::optional<double> ratio = records_over_events(observation);
    if (!ratio) return;
    const bool agree = kRecordsAgree.contains(*ratio);
    add(Rule::kernel_time, agree ? Judgement::pass : Judgement::warning,
        agree ? ""
              : fmt::format(
                    "times disagree: {} takes {} in the device's records, {} in its events; measure again on "
                    "an idle device with locked clocks",
                    observation.kernels.front().name,
                    format_duration(static_cast<double>(observation.kernels.front().ns)),
                    format_duration(observation.gpu_time->median_ns)),
        "", ratio);
    verdicts_.back().bound = kRecordsAgree;
  }

  void judge_limits(const Observation& observation) {
    const Limits& limits = planned_.limits;
    // Without a peak, the rule window_bytes fails.
    if (const auto peak = observation.requested_peak_bytes) {
      if (limits.peak_bytes) {
        add_limit(static_cast<double>(*peak), static_cast<double>(*limits.peak_bytes), [&] {
          return fmt::format("peak too high: {} bytes; max_peak is {} ({} more)", fmt::group_digits(*peak),
                             fmt::group_digits(*limits.peak_bytes),
                             fmt::group_digits(*peak - *limits.peak_bytes));
        });
      }
      if (limits.peak_over_floor) judge_peak_over_floor(observation, *peak, *limits.peak_over_floor);
    }
    if (limits.time_ns) judge_time(observation, *limits.time_ns);
    for (const MetricLimit& limit : limits.metrics) judge_metric(observation, limit);
  }

  void judge_time(const Observation& observation, double limit_ns) {
    if (!observation.gpu_time) {
      add(Rule::limit, Judgement::warning, "no time: max_time is not judged");
      return;
    }
    add_limit(observation.gpu_time->median_ns, limit_ns, [&] {
      const auto [time, limit] = format_durations(observation.gpu_time->median_ns, limit_ns);
      return fmt::format("too slow: {}; max_time is {}", time, limit);
    });
  }

  void judge_metric(const Observation& observation, const MetricLimit& limit) {
    const auto found = observation.metrics.find(limit.name);
    if (found == observation.metrics.end()) {
      std::vector<std::string> known;
      for (const auto& [name, value] : observation.metrics) known.push_back(name);
      add(Rule::limit, Judgement::warning,
          fmt::format("no metric: the case does not report '{}', so its limit is not judged{}", limit.name,
                      suggest_word(limit.name, known)));
      return;
    }
    const double value = found->second;
    std::string advice;
    if (limit.max && value > *limit.max)
      advice = fmt::format("{} too high: {}; max_metric is {}", limit.name, value, *limit.max);
    if (limit.min && value < *limit.min)
      advice = fmt::format("{} too low: {}; min_metric is {}", limit.name, value, *limit.min);
    const Judgement judgement = advice.empty() ? Judgement::pass : Judgement::fail;
    add(Rule::limit, judgement, std::move(advice), "", value);
  }

  void judge_peak_over_floor(const Observation& observation, Size peak, double limit) {
    const std::optional<Size> inputs = observation.input_bytes;
    const std::optional<Size> outputs = observation.output_bytes;
    const Size floor = inputs && outputs ? checked_add(*inputs, *outputs) : 0;
    if (floor == 0) {
      add(Rule::limit, Judgement::warning,
          fmt::format("no floor: max_peak_over_floor is not judged, since {}",
                      inputs && outputs ? "inputs and outputs have no bytes"
                                        : "the bytes of inputs and outputs are unknown"));
      return;
    }
    const double ratio = static_cast<double>(peak) / static_cast<double>(floor);
    add_limit(ratio, limit, [&] {
      return fmt::format(
          "peak too high: {:.3f} of the {} bytes of inputs and outputs; max_peak_over_floor is {}", ratio,
          fmt::group_digits(floor), limit);
    });
  }

  /// `advice` returns what is wrong.
  template <typename Advice>
  void add_limit(double value, double limit, Advice advice) {
    const bool is_kept = value <= limit;
    add(Rule::limit, is_kept ? Judgement::pass : Judgement::fail, is_kept ? "" : advice(), "", value / limit);
  }

  void judge_estimates(const Observation& observation) {
    if (!observation.requested_peak_bytes) {
      add(Rule::window_bytes, Judgement::failed_measurement,
          "peak unknown: no recorder was active; see `peakmark doctor`");
      return;
    }
    if (observation.estimate) {
      judge_estimate(observation, *observation.estimate);
    } else {
      add(Rule::window_bytes, Judgement::warning, "no estimator: the variant has none");
    }
    for (const std::string& name : planned_.judged_estimators) {
      const auto found =
          std::find_if(observation.other_estimates.begin(), observation.other_estimates.end(),
                       [&](const EstimateObservation& estimate) { return estimate.estimator == name; });
      if (found == observation.other_estimates.end()) {
        add(Rule::estimator, Judgement::fail, "no answer from this estimator, which the suite names", name);
      } else {
        judge_estimate(observation, *found);
      }
    }
  }

  void judge_estimate(const Observation& observation, const EstimateObservation& estimate) {
    if (estimate.error || !estimate.slices_estimated || !estimate.bytes_estimated) {
      add(Rule::estimator, Judgement::fail,
          fmt::format("the estimator failed: {}", estimate.error.value_or("no answer")), estimate.estimator);
      return;
    }
    if (*estimate.bytes_estimated <= 0) {
      add(Rule::estimator, Judgement::fail,
          fmt::format("invalid estimate: {} bytes", *estimate.bytes_estimated), estimate.estimator);
      return;
    }
    judge_slices(*observation.requested_peak_bytes, estimate);
    judge_bytes(*observation.requested_peak_bytes, estimate);
    if (observation.output_dtype && estimate.dtype) {
      const bool same = *observation.output_dtype == *estimate.dtype;
      add(Rule::dtype, same ? Judgement::pass : Judgement::fail,
          same ? ""
               : fmt::format("wrong output dtype: estimated {}, but the output is {}. Methods chained after "
                             "this one get wrong sizes",
                             *estimate.dtype, *observation.output_dtype),
          estimate.estimator);
    }
  }

  void judge_slices(Size peak, const EstimateObservation& estimate) {
    const Size used = estimate.slices_used;
    const Size estimated = *estimate.slices_estimated;
    if (used < kMinSlicesToJudge) {
      add(Rule::window_slices, Judgement::warning,
          fmt::format("granularity: {} estimated, {} used; below {} slices only bytes are judged",
                      quantity(estimated, "slice"), used, kMinSlicesToJudge),
          estimate.estimator);
      return;
    }
    const double ratio = static_cast<double>(estimated) / static_cast<double>(used);
    std::string advice;
    if (ratio > window_.hi) {
      advice = fmt::format(
          "estimate too low: predicts {} in {} bytes, but {} used all of it. Chunks sized by it run out of "
          "memory",
          quantity(estimated, "slice"), fmt::group_digits(peak), quantity(used, "slice"));
    } else if (ratio < window_.lo) {
      advice = fmt::format(
          "estimate too high: predicts {} in {} bytes, but {} fit. Chunks sized by it are smaller than "
          "necessary",
          quantity(estimated, "slice"), fmt::group_digits(peak), quantity(used, "slice"));
    }
    add_window_verdict(Rule::window_slices, ratio, std::move(advice), estimate.estimator);
  }

  void judge_bytes(Size peak, const EstimateObservation& estimate) {
    const Size bytes = *estimate.bytes_estimated;
    const double ratio = static_cast<double>(peak) / static_cast<double>(bytes);
    std::string advice;
    if (ratio > window_.hi) {
      advice = fmt::format(
          "estimate too low: {} bytes, but {} are needed ({} short). Chunks sized by it run out of memory",
          fmt::group_digits(bytes), fmt::group_digits(peak), fmt::group_digits(peak - bytes));
    } else if (ratio < window_.lo) {
      advice = fmt::format(
          "estimate too high: {} bytes, but {} are needed ({} spare). Chunks sized by it are smaller than "
          "necessary",
          fmt::group_digits(bytes), fmt::group_digits(peak), fmt::group_digits(bytes - peak));
    }
    if (!advice.empty() && is_tolerated(peak, bytes)) {
      add(Rule::window_bytes, Judgement::warning,
          fmt::format("tolerance: {} bytes estimated, {} needed: outside the window by at most "
                      "--window-tolerance {}",
                      fmt::group_digits(bytes), fmt::group_digits(peak), format_size(window_tolerance_)),
          estimate.estimator, ratio);
      verdicts_.back().bound = window_;
      return;
    }
    add_window_verdict(Rule::window_bytes, ratio, std::move(advice), estimate.estimator);
  }

  /// Returns true if a peak outside the window misses it by at most the tolerance.
  [[nodiscard]] bool is_tolerated(Size peak, Size bytes) const {
    const auto estimated = static_cast<double>(bytes);
    const double max = window_.hi * estimated + static_cast<double>(window_tolerance_);
    const double min = window_.lo * estimated - static_cast<double>(window_tolerance_);
    return window_tolerance_ > 0 && min <= static_cast<double>(peak) && static_cast<double>(peak) <= max;
  }

  void add_window_verdict(Rule rule, double ratio, std::string advice, const std::string& estimator) {
    add(rule, window_.contains(ratio) ? Judgement::pass : Judgement::fail, std::move(advice), estimator,
        ratio);
    verdicts_.back().bound = window_;
  }

  void add(Rule rule, Judgement judgement, std::string advice = "", std::string_view estimator = "",
           std::optional<double> figure = std::nullopt) {
    verdicts_.push_back({planned_.name, rule, judgement, estimator, figure, std::nullopt, std::move(advice)});
  }

  const PlannedCase& planned_;
  Window window_;
  Size window_tolerance_;
  std::vector<Verdict>& verdicts_;
};

}  // namespace

std::string_view to_string(Rule rule) {
  constexpr std::array<std::string_view, 11> names{"present",      "outcome", "estimator", "window_slices",
                                                   "window_bytes", "dtype",   "leak",      "repeat",
                                                   "kernel_time",  "limit",   "baseline"};
  return names.at(static_cast<std::size_t>(rule));
}

std::string_view to_string(Judgement judgement) {
  constexpr std::array<std::string_view, 6> names{"pass",    "counted", "as_expected",
                                                  "skipped", "fail",    "failed_measurement"};
  return names.at(static_cast<std::size_t>(judgement));
}

std::string_view label(Judgement judgement) {
  if (judgement == Judgement::warning) return "warning";
  if (judgement == Judgement::as_expected) return "as expected";
  return judgement == Judgement::failed_measurement ? "not measured" : to_string(judgement);
}

std::string Verdict::reason() const {
  return advice.substr(0, advice.find(':'));
}

std::unordered_map<std::string_view, const Observation*> by_name(const Run& run) {
  std::unordered_map<std::string_view, const Observation*> found;
  for (const Observation& observation : run.observations) {
    if (!found.emplace(observation.case_name, &observation).second) {
      throw UsageError(
          fmt::format("two observations of {}: merge runs with `peakmark merge`", observation.case_name));
    }
  }
  return found;
}

namespace {

/// Usual number of verdicts of a case, with one estimator and two memory passes. Reserves memory, so that the
/// list of a million cases is not moved while it grows.
constexpr std::size_t kVerdictsOfACase = 7;

/// Marks failures that the baseline does not have.
void mark_new(const Baseline& baseline,
              const std::unordered_map<std::string_view, const Observation*>& observations,
              std::vector<Verdict>& verdicts) {
  for (Verdict& verdict : verdicts) {
    if (verdict.rule != Rule::outcome || verdict.judgement < Judgement::fail) continue;
    const auto known = baseline.cases.find(std::string(verdict.case_name));
    const auto observed = observations.find(verdict.case_name);
    if (known == baseline.cases.end() || observed == observations.end()) continue;
    if (known->second.outcome == observed->second->outcome) continue;
    verdict.advice =
        fmt::format("new: {} in the baseline; {}", to_string(known->second.outcome), verdict.advice);
  }
}

}  // namespace

std::vector<Verdict> judge(const Run& run, const JudgeOptions& options) {
  const auto observations = by_name(run);
  const bool is_imported = run.context.environment.contains(kImportedFrom);
  std::vector<Verdict> verdicts;
  verdicts.reserve(run.context.planned.size() * kVerdictsOfACase);
  for (const PlannedCase& planned : run.context.planned) {
    const auto found = observations.find(planned.name);
    CaseJudge(planned, options, verdicts)
        .judge(found == observations.end() ? nullptr : found->second, is_imported);
  }
  // Missing shards get a separate row, since the plan lacks their cases.
  if (!run.context.partial.empty()) {
    verdicts.push_back({run.context.partial, Rule::present, Judgement::failed_measurement, "", std::nullopt,
                        std::nullopt, "cases are lost: measure that shard, and merge again"});
  }
  if (options.baseline != nullptr) {
    std::ranges::move(judge_baseline(run, *options.baseline, options.allowed_growth),
                      std::back_inserter(verdicts));
    mark_new(*options.baseline, observations, verdicts);
  }
  return verdicts;
}

std::vector<std::string> notes_on(const JudgeOptions& options) {
  std::vector<std::string> notes;
  if (!options.allowed_growth.is_zero()) notes.push_back(options.allowed_growth.note());
  if (options.window_tolerance > 0) {
    notes.push_back(
        fmt::format("window tolerance: {} (--window-tolerance)", format_size(options.window_tolerance)));
  }
  return notes;
}

ExitCode worse(ExitCode a, ExitCode b) {
  constexpr std::array order{ExitCode::usage,       ExitCode::recorder, ExitCode::nothing,
                             ExitCode::measurement, ExitCode::verdict,  ExitCode::clean};
  return *std::find_if(order.begin(), order.end(), [&](ExitCode code) { return code == a || code == b; });
}

}  // namespace peakmark
