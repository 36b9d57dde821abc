#include "check/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "base/size.hpp"
#include "base/text.hpp"
#include "check/baseline_rule.hpp"
#include "runfile/run_summary.hpp"

namespace peakmark {
namespace {

/// Collects the verdicts on one case.
class CaseJudge {
 public:
  CaseJudge(const PlannedCase& planned, const JudgeOptions& options, std::vector<Verdict>& verdicts)
      : planned_(planned),
        window_(options.window.value_or(planned.window)),
        window_tolerance_(options.window_tolerance),
        verdicts_(verdicts) {}

  void judge(const Observation* observation) {
    if (observation == nullptr) {
      say(Rule::present, Judgement::failed_measurement,
          "the suite has this case and the run has no observation of it: finish the run with --resume");
      return;
    }
    say(Rule::present, Judgement::pass);
    if (!judge_outcome(*observation)) return;
    judge_memory(*observation);
    judge_times(*observation);
    judge_estimates(*observation);
  }

 private:
  /// True when the case ended well, so that its figures can be judged.
  bool judge_outcome(const Observation& observation) {
    const bool is_expected = planned_.expected_outcome == to_string(observation.outcome);
    switch (end_of(planned_, observation)) {
      case CaseEnd::measured:
        if (is_expected) {
          say(Rule::outcome, observation.message.empty() ? Judgement::pass : Judgement::counted,
              observation.message);
        } else {
          say(Rule::outcome, Judgement::fail,
              fmt::format("the suite expects {} and the case went well: correct the suite's expectation, or "
                          "find out why",
                          planned_.expected_outcome));
        }
        return true;
      case CaseEnd::as_expected:
        say(Rule::outcome, Judgement::as_expected, reason_of(observation));
        return false;
      case CaseEnd::skipped:
        say(Rule::outcome, Judgement::skipped, reason_of(observation) + note_on_expectation(observation));
        return false;
      case CaseEnd::failed:
        break;
    }
    say(Rule::outcome, Judgement::failed_measurement, reason_of(observation));
    return false;
  }

  /// A headline counts by what comes before the colon.
  std::string note_on_expectation(const Observation& observation) const {
    if (planned_.expected_outcome != to_string(observation.outcome)) return "";
    return observation.message.empty() ? ": as the suite expects" : " (as the suite expects)";
  }

  void judge_memory(const Observation& observation) {
    if (observation.leaked_bytes) {
      const Size leaked = *observation.leaked_bytes;
      say(Rule::leak, leaked == 0 ? Judgement::pass : Judgement::fail,
          leaked == 0 ? ""
                      : quantity(leaked, "byte is", "bytes are") +
                            " live after the case: something is never released",
          "", static_cast<double>(leaked));
    }
    if (observation.requested_peak_bytes && observation.second_pass_peak_bytes) {
      const Size moved = *observation.second_pass_peak_bytes - *observation.requested_peak_bytes;
      std::string advice;
      if (moved != 0) {
        advice = fmt::format("the second memory pass had a peak of {} bytes instead of {}",
                             *observation.second_pass_peak_bytes, *observation.requested_peak_bytes);
        for (const std::string& allocation : observation.moved_allocations) advice += "; " + allocation;
      }
      say(Rule::repeat, moved == 0 ? Judgement::pass : Judgement::counted, std::move(advice), "",
          static_cast<double>(moved));
    }
  }

  /// Counted, not failed: between the records and the events the clocks may have changed, and no byte is
  /// wrong.
  void judge_times(const Observation& observation) {
    const std::optional<double> ratio = records_over_events(observation);
    if (!ratio) return;
    const bool agree = kRecordsAgree.contains(*ratio);
    say(Rule::kernel_time, agree ? Judgement::pass : Judgement::counted,
        agree
            ? ""
            : fmt::format("times disagree: {} takes {} by the device's records and {} by its events; measure "
                          "again on a quiet device with locked clocks",
                          observation.kernels.front().name,
                          format_duration(static_cast<double>(observation.kernels.front().ns)),
                          format_duration(observation.gpu_time->median_ns)),
        "", *ratio);
    verdicts_.back().bound = kRecordsAgree;
  }

  void judge_estimates(const Observation& observation) {
    if (!observation.requested_peak_bytes) {
      say(Rule::window_bytes, Judgement::failed_measurement,
          "the case went well and its peak is unknown: no recorder was there; see `peakmark doctor`");
      return;
    }
    if (observation.estimate) {
      judge_estimate(observation, *observation.estimate);
    } else {
      say(Rule::window_bytes, Judgement::counted, "the variant has no estimator");
    }
    for (const std::string& name : planned_.judged_estimators) {
      const auto found =
          std::find_if(observation.other_estimates.begin(), observation.other_estimates.end(),
                       [&](const EstimateObservation& estimate) { return estimate.estimator == name; });
      if (found == observation.other_estimates.end()) {
        say(Rule::window_bytes, Judgement::fail, "the suite names this estimator and it gave no answer",
            name);
      } else {
        judge_estimate(observation, *found);
      }
    }
  }

  void judge_estimate(const Observation& observation, const EstimateObservation& estimate) {
    if (estimate.error || !estimate.slices_estimated || !estimate.bytes_estimated) {
      say(Rule::window_bytes, Judgement::fail,
          fmt::format("the estimator failed: {}", estimate.error.value_or("it gave no answer")),
          estimate.estimator);
      return;
    }
    judge_slices(estimate);
    judge_bytes(*observation.requested_peak_bytes, estimate);
    if (observation.output_dtype && estimate.dtype) {
      const bool same = *observation.output_dtype == *estimate.dtype;
      say(Rule::dtype, same ? Judgement::pass : Judgement::fail,
          same ? ""
               : fmt::format(
                     "the estimator says that the output is {}; it is {}: whoever chains methods by it plans "
                     "with wrong sizes",
                     *estimate.dtype, *observation.output_dtype),
          estimate.estimator);
    }
  }

  void judge_slices(const EstimateObservation& estimate) {
    const Size used = estimate.slices_used;
    const Size estimated = *estimate.slices_estimated;
    if (used < kMinSlicesToJudge) {
      say(Rule::window_slices, Judgement::counted,
          fmt::format("granularity: {} of {} estimated; below {} slices only bytes are judged", estimated,
                      quantity(used, "slice"), kMinSlicesToJudge),
          estimate.estimator);
      return;
    }
    const double ratio = static_cast<double>(estimated) / static_cast<double>(used);
    std::string advice;
    if (ratio > window_.hi) {
      advice = fmt::format(
          "told to make do with the peak, the estimator allows {} where {} needed it all: it "
          "is too low, and chunks made by it run out of memory",
          quantity(estimated, "slice"), used);
    } else if (ratio < window_.lo) {
      advice = fmt::format(
          "told to make do with the peak, the estimator allows {} where {} fitted: it is too "
          "high and wastes the card",
          quantity(estimated, "slice"), used);
    }
    say_in_window(Rule::window_slices, ratio, std::move(advice), estimate.estimator);
  }

  void judge_bytes(Size peak, const EstimateObservation& estimate) {
    const Size bytes = *estimate.bytes_estimated;
    if (bytes <= 0) {
      say(Rule::window_bytes, Judgement::fail, fmt::format("the estimator answers {} bytes", bytes),
          estimate.estimator);
      return;
    }
    const double ratio = static_cast<double>(peak) / static_cast<double>(bytes);
    std::string advice;
    if (ratio > window_.hi) {
      advice =
          fmt::format("{} bytes are needed and {} estimated, {} too few: chunks made by it run out of memory",
                      peak, bytes, peak - bytes);
    } else if (ratio < window_.lo) {
      advice = fmt::format("{} bytes are needed and {} estimated, {} too many: it wastes the card", peak,
                           bytes, bytes - peak);
    }
    if (!advice.empty() && is_tolerated(peak, bytes)) {
      say(Rule::window_bytes, Judgement::counted,
          fmt::format("tolerance: {} bytes are needed and {} estimated: outside the window by no more than "
                      "--window-tolerance {}",
                      peak, bytes, format_size(window_tolerance_)),
          estimate.estimator, ratio);
      verdicts_.back().bound = window_;
      return;
    }
    say_in_window(Rule::window_bytes, ratio, std::move(advice), estimate.estimator);
  }

  /// Of a peak outside the window.
  [[nodiscard]] bool is_tolerated(Size peak, Size bytes) const {
    const auto estimated = static_cast<double>(bytes);
    const double most = window_.hi * estimated + static_cast<double>(window_tolerance_);
    const double least = window_.lo * estimated - static_cast<double>(window_tolerance_);
    return window_tolerance_ > 0 && least <= static_cast<double>(peak) && static_cast<double>(peak) <= most;
  }

  void say_in_window(Rule rule, double ratio, std::string advice, const std::string& estimator) {
    say(rule, window_.contains(ratio) ? Judgement::pass : Judgement::fail, std::move(advice), estimator,
        ratio);
    verdicts_.back().bound = window_;
  }

  void say(Rule rule, Judgement judgement, std::string advice = "", std::string estimator = "",
           std::optional<double> figure = std::nullopt) {
    verdicts_.push_back(
        {planned_.name, rule, judgement, std::move(estimator), figure, std::nullopt, std::move(advice)});
  }

  const PlannedCase& planned_;
  Window window_;
  Size window_tolerance_;
  std::vector<Verdict>& verdicts_;
};

}  // namespace

std::string_view to_string(Rule rule) {
  constexpr std::array<std::string_view, 9> names{"present",      "outcome",     "window_slices",
                                                  "window_bytes", "dtype",       "leak",
                                                  "repeat",       "kernel_time", "baseline"};
  return names.at(static_cast<std::size_t>(rule));
}

std::string_view to_string(Judgement judgement) {
  constexpr std::array<std::string_view, 6> names{"pass",    "counted", "as_expected",
                                                  "skipped", "fail",    "failed_measurement"};
  return names.at(static_cast<std::size_t>(judgement));
}

std::string_view text_of(Judgement judgement) {
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
      throw UsageError(fmt::format("the run has two observations of {}: merge runs with `peakmark merge`",
                                   observation.case_name));
    }
  }
  return found;
}

namespace {

/// Marks failures that the baseline did not have. The rule `baseline` itself reports only what is new.
void mark_new(const Baseline& baseline,
              const std::unordered_map<std::string_view, const Observation*>& observations,
              std::vector<Verdict>& verdicts) {
  for (Verdict& verdict : verdicts) {
    if (verdict.rule != Rule::outcome || verdict.judgement < Judgement::fail) continue;
    const auto known = baseline.cases.find(verdict.case_name);
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
  std::vector<Verdict> verdicts;
  for (const PlannedCase& planned : run.context.planned) {
    const auto found = observations.find(planned.name);
    CaseJudge(planned, options, verdicts).judge(found == observations.end() ? nullptr : found->second);
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

ExitCode exit_code_of(const Run& run, const std::vector<Verdict>& verdicts) {
  if (is_unmeasured(run)) return ExitCode::nothing;
  ExitCode code = ExitCode::clean;
  for (const Verdict& verdict : verdicts) {
    if (verdict.judgement == Judgement::fail) code = worse(code, ExitCode::verdict);
    if (verdict.judgement == Judgement::failed_measurement) code = worse(code, ExitCode::measurement);
  }
  return code;
}

ExitCode worse(ExitCode a, ExitCode b) {
  constexpr std::array order{ExitCode::usage,       ExitCode::recorder, ExitCode::nothing,
                             ExitCode::measurement, ExitCode::verdict,  ExitCode::clean};
  return *std::find_if(order.begin(), order.end(), [&](ExitCode code) { return code == a || code == b; });
}

std::string JudgedCase::variant() const {
  if (planned != nullptr) return planned->sweep_case.variant;
  const std::size_t operation = name.find('/');
  return name.substr(0, operation == std::string::npos ? operation : name.find('/', operation + 1));
}

Judgement JudgedCase::judgement() const {
  const Verdict* verdict = worst();
  return verdict == nullptr ? Judgement::pass : verdict->judgement;
}

const Verdict* JudgedCase::worst() const {
  // Of what is counted, a change of bytes is told before what is always so, such as granularity.
  const auto weight = [](const Verdict* verdict) {
    const bool has_changed = verdict->judgement == Judgement::counted && verdict->rule == Rule::baseline;
    return std::pair(verdict->judgement, has_changed);
  };
  const auto found = std::ranges::max_element(verdicts, {}, weight);
  return found == verdicts.end() || (*found)->judgement == Judgement::pass ? nullptr : *found;
}

std::optional<double> JudgedCase::figure(Rule rule) const {
  // The variant's own estimator is judged first.
  for (const Verdict* const verdict : verdicts) {
    if (verdict->rule == rule) return verdict->figure;
  }
  return std::nullopt;
}

std::vector<JudgedCase> by_case(const Run& run, const std::vector<Verdict>& verdicts) {
  const auto observations = by_name(run);
  std::vector<JudgedCase> cases;
  cases.reserve(run.context.planned.size());
  std::unordered_map<std::string_view, std::size_t> place;
  for (const PlannedCase& planned : run.context.planned) {
    const auto found = observations.find(planned.name);
    place.emplace(planned.name, cases.size());
    cases.push_back({planned.name, &planned, found == observations.end() ? nullptr : found->second, {}});
  }
  for (const Verdict& verdict : verdicts) {
    const auto [found, is_new] = place.emplace(verdict.case_name, cases.size());
    if (is_new) cases.push_back({verdict.case_name, nullptr, nullptr, {}});
    cases[found->second].verdicts.push_back(&verdict);
  }
  return cases;
}

}  // namespace peakmark
