#include "measure/check/reports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/report.hpp"
#include "base/size.hpp"
#include "base/text.hpp"
#include "measure/check/judged_case.hpp"
#include "measure/runfile/json_fields.hpp"
#include "measure/runfile/observation_json.hpp"
#include "measure/runfile/run_summary.hpp"
#include "measure/runfile/throughput.hpp"

namespace peakmark {
namespace {

using json_fields::Json;

/// A row of the console table and of the markdown table.
struct CaseRow {
  const JudgedCase& judged;
  const RunContext& context;
};

/// Returns a function that applies `get` to the observation of a row; null if the case has none.
template <typename Get>
auto observed(Get get) {
  return [get](const CaseRow& row) -> Json {
    return row.judged.observation == nullptr ? Json() : to_fact(std::invoke(get, *row.judged.observation));
  };
}

std::string_view case_cell(const CaseRow& row) {
  return row.judged.name;
}

std::string top_cell(const Observation& observation) {
  return observation.at_peak.empty() ? "" : to_text(group_peak(observation.at_peak).front());
}

std::string rate_cell(const CaseRow& row) {
  const Observation* const one = row.judged.observation;
  return one == nullptr ? "" : rate_text(throughput_of(*one, row.context));
}

/// Returns `20/20 1.000`: slices estimated and used, then peak over estimated bytes.
std::string estimate_cell(const Observation& observation) {
  if (!observation.estimate) return "–";
  const EstimateObservation& estimate = *observation.estimate;
  if (estimate.error || !estimate.slices_estimated || !estimate.bytes_estimated) {
    // An estimator may refuse a case that is unsupported.
    return observation.outcome == Outcome::ok ? "error" : "–";
  }
  std::string text = fmt::format("{}/{}", *estimate.slices_estimated, estimate.slices_used);
  if (observation.requested_peak_bytes && *estimate.bytes_estimated > 0) {
    text += fmt::format(" {:.3f}", static_cast<double>(*observation.requested_peak_bytes) /
                                       static_cast<double>(*estimate.bytes_estimated));
  }
  return text;
}

std::optional<double> ratio(const CaseRow& row) {
  return row.judged.figure(Rule::window_bytes);
}

std::string short_verdict_cell(const CaseRow& row) {
  const Verdict* worst = row.judged.worst();
  if (worst == nullptr) return "pass";
  if (worst->judgement < Judgement::fail) {
    const Judgement shown = worst->judgement == Judgement::warning ? Judgement::pass : worst->judgement;
    return fmt::format("{} ({})", label(shown), worst->reason());
  }
  return fmt::format("{} {}", worst->judgement == Judgement::fail ? "FAIL" : "ERROR", to_string(worst->rule));
}

/// Returns true if the case has too few slices to judge its estimate by slices, which needs no action.
bool is_too_small(const JudgedCase& judged) {
  const Verdict* worst = judged.worst();
  return worst != nullptr && worst->judgement == Judgement::warning && worst->rule == Rule::window_slices;
}

std::string verdict_cell(const CaseRow& row) {
  return is_too_small(row.judged) ? "pass (granularity)" : std::string(label(row.judged.judgement()));
}

/// Returns what to do about a case: the advice of each verdict that fails, else that of the worst one.
std::vector<std::string> advice_on(const JudgedCase& judged) {
  const Verdict* worst = judged.worst();
  if (worst == nullptr || is_too_small(judged)) return {};
  if (worst->judgement < Judgement::fail) return {worst->advice};
  std::vector<std::string> advice;
  for (const Verdict* const verdict : judged.verdicts) {
    if (verdict->judgement >= Judgement::fail) advice.push_back(verdict->advice);
  }
  return advice;
}

std::string advice_cell(const CaseRow& row) {
  std::string text;
  for (const std::string& advice : advice_on(row.judged))
    text += (text.empty() ? "" : "<br>") + markdown_cell(advice);
  return text;
}

const Fields<CaseRow>& console_fields() {
  static const Fields<CaseRow> fields{{"case", As::text, case_cell},
                                      {"peak", As::size, observed(&Observation::requested_peak_bytes)},
                                      {"setup", As::size, observed(&Observation::setup_bytes)},
                                      {"top at the peak", As::text, observed(top_cell)},
                                      {"time", As::figure, observed(time_text)},
                                      {"GB/s", As::figure, rate_cell},
                                      {"estimate", As::figure, observed(estimate_cell)},
                                      {"verdict", As::text, short_verdict_cell}};
  return fields;
}

/// Returns the names of the metrics of a run, sorted.
std::set<std::string> metric_names(const Run& run) {
  std::set<std::string> names;
  for (const Observation& one : run.observations) {
    for (const auto& [name, value] : one.metrics) names.insert(name);
  }
  return names;
}

/// Returns the fields with a column for each metric of the run, before the column `before`.
Fields<CaseRow> with_metrics(Fields<CaseRow> fields, const Run& run, std::string_view before) {
  Fields<CaseRow> metrics;
  for (const std::string& name : metric_names(run)) {
    metrics.emplace_back(name, As::number, [name](const CaseRow& row) -> std::optional<double> {
      if (row.judged.observation == nullptr) return std::nullopt;
      const auto found = row.judged.observation->metrics.find(name);
      return found == row.judged.observation->metrics.end() ? std::nullopt : std::optional(found->second);
    });
  }
  fields.insert(std::ranges::find(fields, before, &Field<CaseRow>::title), metrics.begin(), metrics.end());
  return fields;
}

const Fields<CaseRow>& markdown_fields() {
  static const Fields<CaseRow> fields{{"case", As::name, case_cell},
                                      {"verdict", As::text, verdict_cell},
                                      {"peak", As::size, observed(&Observation::requested_peak_bytes)},
                                      {"time", As::figure, observed(time_text)},
                                      {"GB/s", As::figure, rate_cell},
                                      {"peak / estimate", As::ratio, ratio},
                                      {"what to do", As::markdown, advice_cell, "", ""}};
  return fields;
}

/// Returns true if the advice of a verdict is printed below the table.
bool is_printed(const Verdict& verdict) {
  if (verdict.judgement >= Judgement::as_expected) return true;
  if (verdict.judgement != Judgement::warning) return false;
  const bool is_tolerated = verdict.rule == Rule::window_bytes && verdict.bound;
  return verdict.rule == Rule::baseline || verdict.rule == Rule::outcome || is_tolerated;
}

/// Returns the recorded peak of a case; 0 if it is unknown.
Size peak_bytes(const JudgedCase& judged) {
  return judged.observation == nullptr ? 0 : judged.observation->requested_peak_bytes.value_or(0);
}

/// Verdicts with presumably one cause: on one variant, by one rule, for one reason.
struct VerdictGroup {
  std::string variant;
  std::vector<std::pair<const Verdict*, Size>> verdicts;  ///< each with the peak of its case

  /// Returns the verdict whose figure is worst: the ratio farthest from 1, or the most bytes. Of equal ones,
  /// that of the largest peak. The first one if there are no figures.
  [[nodiscard]] const Verdict& worst() const {
    return *std::ranges::max_element(verdicts, {}, [](const auto& one) {
              const auto& [verdict, peak] = one;
              if (!verdict->figure) return std::pair(0.0, Size{0});
              return std::pair(verdict->bound ? std::abs(*verdict->figure - 1) : *verdict->figure, peak);
            })->first;
  }
};

/// Groups the verdicts whose advice is printed, in the order of their first cases.
std::vector<VerdictGroup> group_verdicts(const std::vector<JudgedCase>& cases) {
  using Key = std::tuple<std::string, Rule, Judgement, std::string, std::string>;
  std::map<Key, std::size_t> places;
  std::vector<VerdictGroup> groups;
  for (const JudgedCase& judged : cases) {
    for (const Verdict* const verdict : judged.verdicts) {
      if (!is_printed(*verdict)) continue;
      // Advice with a figure differs from case to case in its numbers.
      const Key key{judged.variant(), verdict->rule, verdict->judgement, verdict->estimator,
                    verdict->figure ? verdict->reason() : verdict->advice};
      const auto [place, is_new] = places.try_emplace(key, groups.size());
      if (is_new) groups.push_back({judged.variant(), {}});
      groups[place->second].verdicts.emplace_back(verdict, peak_bytes(judged));
    }
  }
  return groups;
}

/// Returns `op/a, 6 cases, worst: CASE: window_bytes of NAME: ADVICE`; for one case `CASE: …`.
std::string advice_line(const VerdictGroup& group) {
  const Verdict& worst = group.worst();
  const std::string cases = group.verdicts.size() == 1
                                ? std::string()
                                : fmt::format("{}, {} cases, {}: ", group.variant, group.verdicts.size(),
                                              worst.figure ? "worst" : "first");
  return fmt::format("{}{}: {}{}: {}\n", cases, worst.case_name, to_string(worst.rule),
                     worst.estimator.empty() ? "" : fmt::format(" of {}", worst.estimator), worst.advice);
}

/// Sorts rows of one judgement: the ratio farthest from 1 first, then the largest peak.
std::pair<double, Size> distance(const JudgedCase& judged) {
  const auto figure = judged.figure(Rule::window_bytes);
  return {figure ? std::abs(*figure - 1) : 0, peak_bytes(judged)};
}

void sort_worst_first(std::vector<JudgedCase>& cases) {
  std::ranges::stable_sort(cases, [](const JudgedCase& a, const JudgedCase& b) {
    if (a.judgement() != b.judgement()) return a.judgement() > b.judgement();
    return distance(a) > distance(b);
  });
}

std::string device_line(const RunContext& context) {
  // `dry` has no driver, and its device has the name of its backend.
  std::string details = context.device == context.backend ? "" : context.backend;
  if (!context.device_class.empty())
    details += (details.empty() ? "class " : ", class ") + context.device_class;
  if (!context.driver.empty()) details += (details.empty() ? "driver " : ", driver ") + context.driver;
  std::string line =
      "Device: " + markdown_cell(context.device) + (details.empty() ? "" : " (" + details + ")");
  if (context.device_is_cpu) line += ". Times are CPU times, not a GPU's";
  return line + ".\n";
}

/// Returns the peaks of each kind of memory, one column per kind. Empty if the run has only one kind, whose
/// peak is the peak of the case. `–`: the case has no memory figures.
std::string kinds_table(const std::vector<JudgedCase>& cases) {
  std::set<std::string> kinds;
  for (const JudgedCase& judged : cases) {
    if (judged.observation == nullptr) continue;
    for (const auto& [kind, bytes] : judged.observation->by_kind) kinds.insert(kind);
  }
  if (kinds.size() < 2) return {};
  Fields<JudgedCase> fields{{"peak of each kind", As::text, &JudgedCase::name}};
  for (const std::string& kind : kinds) {
    fields.emplace_back(kind, As::size, [&kind](const JudgedCase& judged) -> std::optional<Size> {
      if (judged.observation == nullptr || judged.observation->by_kind.empty()) return std::nullopt;
      const auto found = judged.observation->by_kind.find(kind);
      return found == judged.observation->by_kind.end() ? 0 : found->second;
    });
  }
  return "\n" + rows_text(fields, cases);
}

/// Returns a row per case, worst first.
Json cases_json(const Run& run, const std::vector<Verdict>& verdicts) {
  std::vector<JudgedCase> cases = by_case(run, verdicts);
  sort_worst_first(cases);
  Json::array_t list;
  for (const JudgedCase& judged : cases) {
    list.push_back({{"case", judged.name},
                    {"variant", judged.variant()},
                    {"judgement", to_string(judged.judgement())},
                    {"reason", json_fields::null_if_empty(reason(judged))},
                    {"estimate_ratio", json_fields::or_null(judged.figure(Rule::window_bytes))},
                    {"advice", advice_on(judged)}});
  }
  return list;
}

/// Returns the peaks of each kind of memory; null for a case without memory figures.
Json kinds_json(const Run& run) {
  Json::array_t list;
  for (const Observation& one : run.observations)
    list.push_back({{"case", one.case_name}, {"by_kind", json_fields::null_if_empty(one.by_kind)}});
  return list;
}

/// Returns the metrics of each case that reports some.
Json metrics_json(const Run& run) {
  Json::array_t list;
  for (const Observation& one : run.observations) {
    if (one.metrics.empty()) continue;
    list.push_back(
        {{"case", one.case_name}, {"metrics", one.metrics}, {"metric_directions", one.metric_directions}});
  }
  return list;
}

/// Returns the speed of each case that has a time.
Json times_json(const Run& run) {
  Json::array_t list;
  for (const Observation& one : run.observations) {
    if (!one.gpu_time) continue;
    list.push_back({{"case", one.case_name},
                    {"gpu_time_ns", one.gpu_time->median_ns},
                    {"cache", json_fields::or_null(one.cache)},
                    {"gpu_time_hot_ns", one.gpu_time_hot ? Json(one.gpu_time_hot->median_ns) : Json(nullptr)},
                    {"throttled_blocks", json_fields::or_null(one.throttled_blocks)},
                    {"throughput", to_json(throughput_of(one, run.context))}});
  }
  return list;
}

}  // namespace

std::string headline(const Run& run, const std::vector<JudgedCase>& cases) {
  Tally tally;
  for (const JudgedCase& judged : cases) tally.add(judged);
  return headline(tally) + (has_measurement(run) ? "" : "; nothing was measured");
}

std::string headline(const Run& run, const std::vector<Verdict>& verdicts) {
  return headline(run, by_case(run, verdicts));
}

std::string console_table(const Run& run, const std::vector<Verdict>& verdicts, std::size_t max_width,
                          const JudgeOptions& options) {
  const Fields<CaseRow> fields = with_metrics(console_fields(), run, "estimate");
  TextTable table(columns(fields));
  const std::vector<JudgedCase> all = by_case(run, verdicts);
  for (const JudgedCase& judged : all) table.add(cells(fields, CaseRow{judged, run.context}));
  std::string advice;
  for (const VerdictGroup& group : group_verdicts(all)) advice += advice_line(group);
  std::string notes;
  for (const std::string& note : notes_on(options)) notes += note + "\n";
  if (std::ranges::any_of(all, is_too_small))
    notes += fmt::format("granularity: with fewer than {} slices, only the bytes of an estimate are judged\n",
                         kMinSlicesToJudge);
  return table.text_within(max_width, {"top at the peak", "setup", "estimate", "GB/s"}) + kinds_table(all) +
         (advice.empty() ? "" : "\n" + plain_text(advice)) + "\n" + notes + headline(run, all) + "\n";
}

std::string markdown(const Run& run, const std::vector<Verdict>& verdicts, const JudgeOptions& options) {
  const ExitCode code = exit_code_of(run, verdicts);
  std::string text = code == ExitCode::clean ? "**No action needed.** " : "**Action needed.** ";
  text += markdown_cell(headline(run, verdicts)) + ".\n\n" + device_line(run.context);
  for (const std::string& note : notes_on(options)) text += "\n" + markdown_cell(note) + ".\n";
  if (!run.context.warnings.empty()) text += "\nWarnings of the run:\n\n";
  for (const std::string& warning : run.context.warnings) text += "- " + markdown_cell(warning) + "\n";
  text += "\n";

  std::vector<JudgedCase> cases = by_case(run, verdicts);
  sort_worst_first(cases);
  constexpr std::size_t kLastLineBytes = 100;
  const std::size_t taken = std::min(text.size() + kLastLineBytes, kMarkdownLimit);
  const Fields<CaseRow> fields = with_metrics(markdown_fields(), run, "peak / estimate");
  MarkdownTable table(columns(fields), kMarkdownLimit - taken);
  for (const JudgedCase& judged : cases) table.add(cells(fields, CaseRow{judged, run.context}));
  text += table.text();
  if (table.left_out() > 0) {
    text += "\n" + quantity(table.left_out(), "more case") + " not shown; none is worse than these.\n";
  }
  return text;
}

nlohmann::ordered_json cases_only_json(const Run& run, const std::vector<Verdict>& verdicts) {
  Json whole = json_fields::begin(format::kVerdicts);
  whole.update(Json{{"headline", headline(run, verdicts)},
                    {"exit_code", static_cast<int>(exit_code_of(run, verdicts))},
                    {"cases", cases_json(run, verdicts)}});
  return whole;
}

nlohmann::ordered_json verdicts_json(const Run& run, const std::vector<Verdict>& verdicts,
                                     const JudgeOptions& options) {
  Json::array_t list;
  for (const Verdict& verdict : verdicts) {
    const bool is_skipped = verdict.judgement == Judgement::skipped;
    list.push_back({{"case", verdict.case_name},
                    {"rule", to_string(verdict.rule)},
                    {"judgement", to_string(verdict.judgement)},
                    {"estimator", json_fields::null_if_empty(verdict.estimator)},
                    {"figure", json_fields::or_null(verdict.figure)},
                    {"bound", verdict.bound ? Json{{"lo", verdict.bound->lo}, {"hi", verdict.bound->hi}}
                                            : Json(nullptr)},
                    {"advice", verdict.advice},
                    {"reason", is_skipped ? Json(verdict.advice) : Json(nullptr)}});
  }
  Json whole = json_fields::begin(format::kVerdicts);
  whole.update(Json{{"headline", headline(run, verdicts)},
                    {"exit_code", static_cast<int>(exit_code_of(run, verdicts))},
                    {"allow_growth", options.allowed_growth.text},
                    {"window_tolerance_bytes", options.window_tolerance},
                    {"verdicts", std::move(list)},
                    {"cases", cases_json(run, verdicts)},
                    {"times", times_json(run)},
                    {"kinds", kinds_json(run)},
                    {"metrics", metrics_json(run)}});
  return whole;
}

}  // namespace peakmark
