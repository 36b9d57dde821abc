#include "check/baseline_rule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "compare/peak_entries.hpp"

namespace peakmark {
namespace {

constexpr std::string_view kAdvice = "; if it is intended, write the baseline anew with --update-baseline";

/// What became of one figure, in words; empty where it is as it was.
std::string change_of(const char* what, const std::optional<Size>& base, const std::optional<Size>& now) {
  if (!base || !now || *base == *now) return "";
  return fmt::format("{} {} bytes instead of {}, {} {}", what, *now, *base,
                     *now > *base ? *now - *base : *base - *now, *now > *base ? "more" : "fewer");
}

std::string moved_text(const BaselineCase& base, const Observation& now) {
  constexpr std::size_t kMost = 8;
  const std::vector<MovedEntries> moved = moved_entries(base.at_peak, now.at_peak);
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, moved.size()); ++i) text += "; " + in_words(moved[i]);
  if (moved.size() > kMost) text += fmt::format("; and {} more", moved.size() - kMost);
  return text;
}

/// Of the two memory passes, which differ where a case does not repeat.
std::optional<Size> least_peak(const Observation& observation) {
  if (!observation.requested_peak_bytes) return std::nullopt;
  return std::min(*observation.requested_peak_bytes,
                  observation.second_pass_peak_bytes.value_or(*observation.requested_peak_bytes));
}

bool is_more(const std::optional<Size>& base, const std::optional<Size>& now) {
  return base && now && *now > *base;
}

bool is_exceeded(const GrowthAllowance& allowed, const std::optional<Size>& base,
                 const std::optional<Size>& now) {
  return base && now && allowed.is_exceeded(*base, *now);
}

Verdict verdict_on(const BaselineCase& base, const Observation& now, const GrowthAllowance& allowed) {
  Verdict verdict{now.case_name, Rule::baseline, Judgement::pass, "", std::nullopt, std::nullopt, ""};
  const bool was_ok = base.outcome == Outcome::ok;
  const bool is_ok = now.outcome == Outcome::ok;
  if (!is_ok) {
    const bool has_ended = now.outcome == Outcome::out_of_memory || now.outcome == Outcome::unsupported;
    if (was_ok && has_ended) {
      verdict.judgement = Judgement::fail;
      verdict.advice = fmt::format("{}, and it went well in the baseline", to_string(now.outcome));
    }
    return verdict;
  }
  if (!was_ok) {
    verdict.judgement = Judgement::counted;
    verdict.advice = fmt::format("goes well now: {} in the baseline{}", to_string(base.outcome), kAdvice);
    return verdict;
  }
  if (base.requested_peak_bytes && now.requested_peak_bytes) {
    verdict.figure = static_cast<double>(*now.requested_peak_bytes - *base.requested_peak_bytes);
  }
  std::string text = change_of("a peak of", base.requested_peak_bytes, now.requested_peak_bytes);
  const std::string setup = change_of("a set-up of", base.setup_bytes, now.setup_bytes);
  if (!setup.empty()) text += (text.empty() ? "" : "; ") + setup;
  if (text.empty()) return verdict;
  text += moved_text(base, now);
  const bool grew =
      is_more(base.requested_peak_bytes, least_peak(now)) || is_more(base.setup_bytes, now.setup_bytes);
  const bool is_unsteady = !grew && is_more(base.requested_peak_bytes, now.requested_peak_bytes);
  const bool fails = is_exceeded(allowed, base.requested_peak_bytes, least_peak(now)) ||
                     is_exceeded(allowed, base.setup_bytes, now.setup_bytes);
  verdict.judgement = fails ? Judgement::fail : Judgement::counted;
  verdict.advice = (fails         ? "grew: "
                    : grew        ? allowed.note() + ": "
                    : is_unsteady ? "unsteady: one memory pass had "
                                  : "shrank: ") +
                   text + std::string(kAdvice);
  return verdict;
}

}  // namespace

std::vector<Verdict> judge_baseline(const Run& run, const Baseline& baseline,
                                    const GrowthAllowance& allowed) {
  const auto observations = by_name(run);
  std::vector<Verdict> verdicts;
  std::set<std::string> planned;
  bool has_common = false;
  for (const PlannedCase& sweep_case : run.context.planned) {
    planned.insert(sweep_case.name);
    const auto found = baseline.cases.find(sweep_case.name);
    const auto observed = observations.find(sweep_case.name);
    has_common = has_common || found != baseline.cases.end();
    if (found == baseline.cases.end()) {
      verdicts.push_back({sweep_case.name, Rule::baseline, Judgement::counted, "", std::nullopt, std::nullopt,
                          fmt::format("new: the baseline has no such case{}", kAdvice)});
    } else if (observed != observations.end()) {
      verdicts.push_back(verdict_on(found->second, *observed->second, allowed));
    }
  }
  if (!has_common && !planned.empty()) {
    throw UsageError(
        fmt::format("the baseline has no case of this run, so that nothing could be judged; is it of another "
                    "suite or backend ({})?",
                    run.context.backend));
  }
  for (const auto& [name, sweep_case] : baseline.cases) {
    if (planned.contains(name)) continue;
    verdicts.push_back({name, Rule::baseline, Judgement::skipped, "", std::nullopt, std::nullopt,
                        fmt::format("vanished: the baseline has this case and the run has not{}", kAdvice)});
  }
  return verdicts;
}

}  // namespace peakmark
