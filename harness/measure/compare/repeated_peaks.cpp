#include "measure/compare/repeated_peaks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/difference.hpp"
#include "base/text.hpp"
#include "measure/compare/moved_fields.hpp"
#include "measure/runfile/json_fields.hpp"

namespace peakmark {
namespace {

bool is_whole(const RepeatedRun& run) {
  return run.summary.has_value() && run.error.empty() && run.ended_early.empty();
}

/// Returns a line for each run that ended early: its peak is not compared.
std::string ended_early_text(const std::vector<RepeatedRun>& runs) {
  std::string text;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    if (runs[run].ended_early.empty()) continue;
    text += fmt::format("run {} ended early, its peak is not compared: {}\n", run + 1, runs[run].ended_early);
  }
  return text;
}

Fields<MovedBetweenLists> moved_by_run(const std::vector<RepeatedRun>& runs) {
  Fields<MovedBetweenLists> fields = {{"name", As::text, &MovedBetweenLists::name, "name", "(unnamed)"},
                                      {"kind", As::text, &MovedBetweenLists::kind, "kind"},
                                      {"bytes each", As::number, &MovedBetweenLists::bytes, "bytes"}};
  fields.emplace_back("", As::hidden, &MovedBetweenLists::counts, "counts");
  std::size_t place = 0;  // among the compared runs
  for (std::size_t run = 0; run < runs.size(); ++run) {
    if (!is_whole(runs[run])) continue;
    fields.emplace_back(fmt::format("run {}", run + 1), As::number,
                        [place](const MovedBetweenLists& one) { return one.counts[place]; });
    ++place;
  }
  return fields;
}

}  // namespace

RepeatedPeaks repeated_peaks(std::vector<RepeatedRun> runs) {
  RepeatedPeaks peaks;
  peaks.runs = std::move(runs);
  std::vector<const LedgerSummary*> whole;
  std::vector<const std::vector<Allocation>*> at_peaks;
  for (const RepeatedRun& run : peaks.runs) {
    if (!is_whole(run)) continue;
    whole.push_back(&*run.summary);
    at_peaks.push_back(&run.summary->at_peak);
  }
  if (whole.empty()) return peaks;
  const auto by_peak = [](const LedgerSummary* one) { return one->peak_bytes; };
  peaks.min_bytes = std::ranges::min(whole, {}, by_peak)->peak_bytes;
  peaks.max_bytes = std::ranges::max(whole, {}, by_peak)->peak_bytes;
  if (whole.size() > 1) peaks.agree = peaks.min_bytes == peaks.max_bytes;
  if (peaks.agree == false) peaks.moved = moved_between(at_peaks);
  return peaks;
}

std::string repeated_peaks_text(const RepeatedPeaks& peaks, bool synced) {
  const auto whole = std::ranges::count_if(peaks.runs, is_whole);
  std::string text = fmt::format("{} of {} recorded", whole, quantity(peaks.runs.size(), "run"));
  const std::string ended_early = ended_early_text(peaks.runs);
  if (!peaks.agree) return text + ": too few to compare their peaks\n" + ended_early;
  if (*peaks.agree) {
    return text +
           fmt::format("; the peaks agree: {} ({} B)\n", format_size(*peaks.max_bytes), *peaks.max_bytes) +
           ended_early;
  }
  text +=
      fmt::format("; the peaks differ: {} to {} ({} to {} B)\n", format_size(*peaks.min_bytes),
                  format_size_beside(*peaks.max_bytes, *peaks.min_bytes), *peaks.min_bytes, *peaks.max_bytes);
  text += ended_early;
  TextTable table({{"  run", TextTable::Align::right}, {"peak", TextTable::Align::right}, {""}});
  for (std::size_t run = 0; run < peaks.runs.size(); ++run) {
    if (!is_whole(peaks.runs[run])) continue;
    table.add({std::to_string(run + 1), std::to_string(peaks.runs[run].summary->peak_bytes),
               peaks.runs[run].profile});
  }
  text += table.text() + "allocations that differ between the peaks\n" +
          rows_text(moved_by_run(peaks.runs), peaks.moved, 20, "  ");
  if (!synced) {
    text +=
        "unfinished commands keep their memory; with --sync each command is finished first, so such peaks "
        "repeat\n";
  }
  return text;
}

nlohmann::ordered_json repeated_peaks_json(const RepeatedPeaks& peaks,
                                           const std::vector<std::string>& program) {
  using json_fields::Json;
  using json_fields::or_null;
  Json runs = Json::array();
  for (const RepeatedRun& run : peaks.runs) {
    runs.push_back({{"profile", json_fields::null_if_empty(run.profile)},
                    {"exit_code", run.exit_code},
                    {"requested_peak_bytes", run.summary ? Json(run.summary->peak_bytes) : Json(nullptr)},
                    {"error", json_fields::null_if_empty(run.error.empty() ? run.ended_early : run.error)}});
  }
  Json json = json_fields::begin(format::kRepeatedPeaks);
  json.update(Json{{"program", program},
                   {"runs", std::move(runs)},
                   {"peaks_agree", or_null(peaks.agree)},
                   {"min_bytes", or_null(peaks.min_bytes)},
                   {"max_bytes", or_null(peaks.max_bytes)},
                   {"moved", rows_json(moved_by_run(peaks.runs), peaks.moved)}});
  return json;
}

}  // namespace peakmark
