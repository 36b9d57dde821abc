#include <fmt/format.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/size.hpp"
#include "base/text.hpp"
#include "base/text_table.hpp"
#include "check/reports.hpp"
#include "check/tally.hpp"
#include "runfile/run_summary.hpp"
#include "runfile/throughput.hpp"

namespace peakmark {
namespace {

std::string bytes_text(const std::optional<Size>& bytes) {
  return bytes ? format_size(*bytes) : "–";
}

std::string top_at_peak(const Observation& observation) {
  if (observation.at_peak.empty()) return "–";
  const PeakEntry& top = observation.at_peak.front();
  return fmt::format("{} {}", top.name.empty() ? top.kind : top.name, format_size(top.bytes));
}

/// `20/20 1.000`: slices estimated and used, then peak over estimated bytes.
std::string estimate_text(const Observation& observation) {
  if (!observation.estimate) return "–";
  const EstimateObservation& estimate = *observation.estimate;
  if (estimate.error || !estimate.slices_estimated || !estimate.bytes_estimated) {
    // Of a case that cannot be, an estimator that says so is not judged.
    return observation.outcome == Outcome::ok ? "error" : "–";
  }
  std::string text = fmt::format("{}/{}", *estimate.slices_estimated, estimate.slices_used);
  if (observation.requested_peak_bytes && *estimate.bytes_estimated > 0) {
    text += fmt::format(" {:.3f}", static_cast<double>(*observation.requested_peak_bytes) /
                                       static_cast<double>(*estimate.bytes_estimated));
  }
  return text;
}

std::string verdict_text(const JudgedCase& sweep_case) {
  const Verdict* worst = sweep_case.worst();
  if (worst == nullptr) return "pass";
  if (worst->judgement < Judgement::fail) {
    const Judgement shown = worst->judgement == Judgement::counted ? Judgement::pass : worst->judgement;
    return fmt::format("{} ({})", text_of(shown), worst->reason());
  }
  return fmt::format("{} {}", worst->judgement == Judgement::fail ? "FAIL" : "ERROR", to_string(worst->rule));
}

/// In full, below the table.
bool is_told(const Verdict& verdict) {
  if (verdict.judgement >= Judgement::as_expected) return true;
  if (verdict.judgement != Judgement::counted) return false;
  const bool is_tolerated = verdict.rule == Rule::window_bytes && verdict.bound;
  return verdict.rule == Rule::baseline || verdict.rule == Rule::outcome || is_tolerated;
}

}  // namespace

std::string headline(const Run& run, const std::vector<Verdict>& verdicts) {
  Tally tally;
  for (const JudgedCase& sweep_case : by_case(run, verdicts)) tally.add(sweep_case);
  return headline(tally) + (has_measurement(run) ? "" : "; nothing was measured");
}

std::string console_table(const Run& run, const std::vector<Verdict>& verdicts, std::size_t max_width,
                          const JudgeOptions& options) {
  using Align = TextTable::Align;
  TextTable table({{"case"},
                   {"peak", Align::right},
                   {"set-up", Align::right},
                   {"top at the peak"},
                   {"time", Align::right},
                   {"GB/s", Align::right},
                   {"estimate", Align::right},
                   {"verdict"}});
  std::string advice;
  std::set<std::pair<std::string, std::string>> told;
  for (const JudgedCase& sweep_case : by_case(run, verdicts)) {
    const std::string verdict = verdict_text(sweep_case);
    if (sweep_case.observation == nullptr) {
      table.add({sweep_case.name, "–", "–", "–", "–", "–", "–", verdict});
    } else {
      const Observation& observation = *sweep_case.observation;
      table.add({sweep_case.name, bytes_text(observation.requested_peak_bytes),
                 bytes_text(observation.setup_bytes), top_at_peak(observation), time_text(observation),
                 rate_text(throughput_of(observation, run.context)), estimate_text(observation), verdict});
    }
    for (const Verdict* const verdict_of_case : sweep_case.verdicts) {
      const Verdict& one = *verdict_of_case;
      if (!is_told(one)) continue;
      // What a variant has to say of every case is told of the first.
      if (one.judgement < Judgement::fail && one.rule == Rule::outcome &&
          !told.emplace(sweep_case.variant(), one.advice).second) {
        continue;
      }
      advice += fmt::format("{}: {}{}: {}\n", one.case_name, to_string(one.rule),
                            one.estimator.empty() ? "" : " of " + one.estimator, one.advice);
    }
  }
  std::string notes;
  for (const std::string& note : notes_on(options)) notes += note + "\n";
  return table.text_within(max_width, {"top at the peak", "set-up", "estimate", "GB/s"}) +
         (advice.empty() ? "" : "\n" + plain_text(advice)) + "\n" + notes + headline(run, verdicts) + "\n";
}

}  // namespace peakmark
