#include "analyse/fit/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/difference.hpp"
#include "base/error.hpp"
#include "base/report.hpp"
#include "base/text.hpp"
#include "measure/runfile/json_fields.hpp"
#include "measure/runfile/observation.hpp"

namespace peakmark {
namespace {

using json_fields::Json;
using json_fields::or_null;

constexpr std::array<std::string_view, 3> kPredictors{"formula", "estimator", "recordings"};

std::string share_cell(const FitReport& report, Size peak) {
  if (report.budget_bytes == 0) return "–";
  return fmt::format("{:.2f} %",
                     100.0 * static_cast<double>(peak) / static_cast<double>(report.budget_bytes));
}

bool is_out_of_memory(const FitReport& report, const FitTrial& trial) {
  return trial.outcome == "out_of_memory" || exceeds_allocation(trial, report.max_allocation) ||
         trial.peak_bytes.value_or(0) > report.budget_bytes;
}

/// Returns why a trial ran out of memory: `needs more than the budget`.
std::string reason(const FitReport& report, const FitTrial& trial) {
  if (exceeds_allocation(trial, report.max_allocation))
    return fmt::format("asks for {} in one allocation, where {} is the limit",
                       format_size(*trial.largest_allocation), format_size(*report.max_allocation));
  const bool is_over_budget = trial.peak_bytes.value_or(0) > report.budget_bytes ||
                              trial.predicted_bytes.value_or(0) > report.budget_bytes;
  return is_over_budget ? "exceeds the budget" : "ran out of memory";
}

std::string outcome_cell(const FitReport& report, const FitTrial& trial) {
  if (exceeds_allocation(trial, report.max_allocation)) return trial.outcome + ": " + reason(report, trial);
  if (trial.outcome != "ok") return trial.outcome;
  return is_out_of_memory(report, trial) ? "exceeds the budget" : "fits";
}

std::string interval_text(const FittingInterval& interval) {
  return interval.first == interval.last ? std::to_string(interval.first)
                                         : fmt::format("{} to {}", interval.first, interval.last);
}

std::string title(const FitReport& report, const std::string& without_axis) {
  std::string text = fmt::format("{} on {} ({})", report.variant, report.backend, report.device);
  std::string axes;
  for (const auto& [axis, value] : report.fixed) {
    if (axis != without_axis) axes += fmt::format(" {}={}", axis, value);
  }
  return text + (axes.empty() ? "" : "\n " + axes) + "\n";
}

Fields<FitTrial> trial_fields(const FitReport& report) {
  return {{report.axis, As::number, &FitTrial::value, "value"},
          {"predicted", As::size, &FitTrial::predicted_bytes, "predicted_bytes"},
          {"recorded", As::size, &FitTrial::peak_bytes, "recorded_bytes"},
          {"", As::bytes, &FitTrial::peak_bytes, "", ""},
          {"", As::hidden, &FitTrial::largest_allocation, "largest_allocation_bytes"},
          {"outcome", As::text, [&](const FitTrial& trial) { return outcome_cell(report, trial); }},
          {"", As::hidden, &FitTrial::outcome, "outcome"},
          {"", As::hidden, unless_empty(&FitTrial::message), "message"}};
}

Fields<TimedValue> throughput_fields(const FitReport& report) {
  return {{report.axis, As::number, &TimedValue::value, "value"},
          {"time", As::duration, &TimedValue::ns, "time_ns"},
          {"items/s", As::number, &TimedValue::items_per_second, "items_per_second"},
          {"quartiles", As::text,
           [](const TimedValue& one) { return fmt::format("{:.4g} … {:.4g}", one.low, one.high); }},
          {"", As::hidden,
           [](const TimedValue& one) {
             return Json{one.low, one.high};
           },
           "quartiles"},
          {"", As::hidden, &TimedValue::time_source, "time_source"}};
}

/// Returns the answer of --objective throughput, and what the times do not decide.
std::string throughput_text(const FitReport& report) {
  const TimedValue& best = *report.timed_answer();
  const Size peak = *report.answer().peak_bytes;
  std::string text = fmt::format(
      "best {}: {}, with {:.4g} items/s ({:.4g} … {:.4g}), which ran with {} of {} ({})\n", report.axis,
      best.value, best.items_per_second, best.low, best.high, format_size_beside(peak, report.budget_bytes),
      format_size(report.budget_bytes), share_cell(report, peak));
  std::vector<Size> close;
  for (const TimedValue& one : report.timed) {
    if (one.value != best.value && one.high >= best.low) close.push_back(one.value);
  }
  if (!close.empty())
    text += fmt::format("  within its quartiles, so equally good: {} = {}\n", report.axis,
                        fmt::join(close, ", "));
  if (best.time_source == time_source::process)
    text += "  times are of the whole process, imports included: mark the call that counts\n";
  return text;
}

/// Returns the largest value that fits, and what limits it. It must exist, and no trial may have stopped the
/// search.
std::string largest_text(const FitReport& report) {
  const Size value = *report.end();
  const FitTrial& trial = report.trial(value);
  const Size peak = *trial.peak_bytes;
  std::string text = fmt::format("largest {}: {}, which ran with {} of {} ({})\n", report.axis, value,
                                 format_size_beside(peak, report.budget_bytes),
                                 format_size(report.budget_bytes), share_cell(report, peak));
  if (!report.range.above(value)) {
    if (!report.range.list.empty()) return text + "  the largest of the values to try\n";
    return text + (report.is_range_given
                       ? fmt::format("  the end of the range {}..{}\n", report.range.min, report.range.max)
                       : "  larger values are not tried\n");
  }
  if (trial.largest_allocation && report.max_allocation) {
    const auto share = [](Size part, Size whole) {
      return static_cast<double>(part) / static_cast<double>(whole);
    };
    if (share(*trial.largest_allocation, *report.max_allocation) > share(peak, report.budget_bytes))
      text += fmt::format("  the limit is that of one allocation: the largest has {} of {}\n",
                          format_size(*trial.largest_allocation), format_size(*report.max_allocation));
  }
  const FitTrial* const above = report.refused_above();
  if (above != nullptr && (report.is_proven() || exceeds_allocation(*above, report.max_allocation)))
    text += fmt::format("  {} was run, and {}\n", above->value, reason(report, *above));
  if (report.predictor == Predictor::recordings)
    text += fmt::format("  memory is taken to grow with {}: no value above {} was run\n", report.axis,
                        std::ranges::max(report.trials, {}, &FitTrial::value).value);
  return text;
}

std::string answer_text(const FitReport& report) {
  if (!report.value && report.trials.empty()) {
    return fmt::format("nothing fits: by the {}, {} = {} needs more than {} ({})\n",
                       to_string(report.predictor), report.axis, report.range.min,
                       format_size(report.budget_bytes), quantity(report.budget_bytes, "byte"));
  }
  if (!report.value && report.is_stopped) {
    const FitTrial& last = report.trials.back();
    return fmt::format("no answer: {} = {} ended with {}\n", report.axis, last.value, last.outcome);
  }
  if (!report.value) {
    const FitTrial& tried = *std::ranges::min_element(report.trials, {}, &FitTrial::value);
    const std::string why = exceeds_allocation(tried, report.max_allocation)
                                ? reason(report, tried)
                                : fmt::format("does not run within {} ({})", format_size(report.budget_bytes),
                                              quantity(report.budget_bytes, "byte"));
    const std::string larger = fmt::format(
        "; larger values were not run: if memory falls as {0} grows, start with larger values: {0}=MIN..MAX",
        report.axis);
    return fmt::format("nothing fits: {} = {} {}{}\n", report.axis, tried.value, why,
                       report.range.above(tried.value) ? larger : "");
  }
  if (report.is_stopped) {
    const FitTrial& last = report.trials.back();
    return fmt::format("no answer: {} = {} ended with {}; the largest that ran is {}, with {} of {}\n",
                       report.axis, last.value, last.outcome, *report.value,
                       format_size_beside(*report.answer().peak_bytes, report.budget_bytes),
                       format_size(report.budget_bytes));
  }
  return (report.timed_answer() == nullptr ? "" : throughput_text(report)) + largest_text(report);
}

std::string intervals_text(const FitReport& report, bool all_intervals) {
  if (report.intervals.size() < 2) return "";
  if (!all_intervals) {
    return fmt::format(
        "  memory is not monotonic: the answer holds from {} on; --all lists {} intervals that fit\n",
        report.intervals.back().first, report.intervals.size());
  }
  std::string text = "  values that fit, by the " + std::string(to_string(report.predictor)) + ":\n";
  constexpr std::size_t kMaxShown = 40;
  // The last intervals are the important ones.
  const std::size_t left_out = report.intervals.size() - std::min(report.intervals.size(), kMaxShown);
  if (left_out > 0) text += fmt::format("    {} more below\n", left_out);
  for (std::size_t i = left_out; i < report.intervals.size(); ++i)
    text += fmt::format("    {}\n", interval_text(report.intervals[i]));
  return text;
}

std::string chunks_text(const FitReport& report) {
  if (!report.chunks) return "";
  const ChunkPlan& plan = *report.chunks;
  std::string text = fmt::format("  {}: {} of {}", quantity(plan.slices, "slice"),
                                 quantity(plan.chunks, "chunk"), plan.chunk_slices);
  if (plan.last_slices != plan.chunk_slices) text += fmt::format(", the last of {}", plan.last_slices);
  if (report.last_chunk_bytes)
    text += fmt::format(" ({} in the last)", format_size(*report.last_chunk_bytes));
  return text + "\n";
}

Json to_json(const FitReport& report) {
  const auto out_of_memory = std::ranges::count_if(
      report.trials, [&](const FitTrial& trial) { return is_out_of_memory(report, trial); });
  Json intervals = Json::array();
  for (const FittingInterval& one : report.intervals)
    intervals.push_back({{"first", one.first}, {"last", one.last}});
  Json predicted = Json::array();
  for (const auto& [value, bytes] : report.predicted)
    predicted.push_back({{"value", value}, {"bytes", bytes}});
  Json fixed = Json::object();
  for (const auto& [axis, value] : report.fixed) fixed[axis] = value;
  Json json{{"variant", report.variant},
            {"backend", report.backend},
            {"device", report.device},
            {"axis", report.axis},
            {"axes", fixed},
            {"objective", report.timed.empty() ? "largest" : "throughput"},
            {"value", or_null(report.value)},
            {"largest_value", or_null(report.end())},
            {"budget_bytes", report.budget_bytes},
            {"max_allocation_bytes", or_null(report.max_allocation)},
            {"predicted_bytes", report.value ? or_null(report.answer().predicted_bytes) : Json()},
            {"recorded_bytes", report.value ? or_null(report.answer().peak_bytes) : Json()},
            {"predictor", to_string(report.predictor)},
            {"formula", json_fields::null_if_empty(report.formula)},
            {"trials", rows_json(trial_fields(report), report.trials)},
            {"out_of_memory", out_of_memory},
            {"throughput", rows_json(throughput_fields(report), report.timed)},
            {"confirmed", report.value.has_value()},
            {"proven", report.is_proven()},
            {"intervals", report.predictor == Predictor::recordings ? Json() : intervals},
            {"predicted", predicted},
            {"chunks", Json()},
            {"notes", report.notes},
            {"reproduce", json_fields::null_if_empty(report.reproduce)}};
  if (report.chunks) {
    json["chunks"] = {{"slices", report.chunks->slices},
                      {"chunk_slices", report.chunks->chunk_slices},
                      {"chunks", report.chunks->chunks},
                      {"last_slices", report.chunks->last_slices},
                      {"last_bytes", or_null(report.last_chunk_bytes)}};
  }
  return json;
}

/// Returns the value of another axis in this report.
const std::string& value_at(const FitReport& report, const std::string& axis) {
  return std::ranges::find(report.fixed, axis, &std::pair<std::string, std::string>::first)->second;
}

}  // namespace

std::string_view to_string(Predictor predictor) {
  return kPredictors.at(static_cast<std::size_t>(predictor));
}

Predictor parse_predictor(std::string_view name) {
  const auto* const found = std::ranges::find(kPredictors, name);
  if (found == kPredictors.end())
    throw UsageError(fmt::format("'{}' is not one of {}", name, fmt::join(kPredictors, ", ")));
  return static_cast<Predictor>(found - kPredictors.begin());
}

const FitTrial& FitReport::trial(Size of_value) const {
  return *std::ranges::find(trials, of_value, &FitTrial::value);
}

const TimedValue* FitReport::timed_answer() const {
  const auto found =
      std::ranges::find_if(timed, [this](const TimedValue& one) { return one.value == value; });
  return found == timed.end() ? nullptr : &*found;
}

const FitTrial* FitReport::refused_above() const {
  const FitTrial* found = nullptr;
  for (const FitTrial& trial : trials) {
    const bool is_above = end() && trial.value > *end() && is_out_of_memory(*this, trial);
    if (is_above && (found == nullptr || trial.value < found->value)) found = &trial;
  }
  return found;
}

bool FitReport::is_proven() const {
  if (!end()) return false;
  const std::optional<Size> above = range.above(*end());
  if (!above) return true;
  const auto trial = std::ranges::find(trials, *above, &FitTrial::value);
  return trial != trials.end() && is_out_of_memory(*this, *trial);
}

std::string fit_text(const FitReport& report, bool all_intervals) {
  std::string text = title(report, "");
  if (!report.formula.empty()) text += fmt::format("  peak = {}\n", report.formula);
  if (!report.trials.empty()) text += rows_text(trial_fields(report), report.trials);
  if (!report.timed.empty()) text += rows_text(throughput_fields(report), report.timed);
  text += answer_text(report) + intervals_text(report, all_intervals) + chunks_text(report);
  for (const std::string& note : report.notes) text += fmt::format("  {}\n", note);
  if (!report.reproduce.empty()) text += fmt::format("  reproduce: {}\n", report.reproduce);
  return plain_text(text);
}

std::string fit_json(const FitReport& report) {
  return json_fields::pretty(to_json(report));
}

std::string fit_json_of_devices(const std::vector<FitReport>& reports) {
  Json devices = Json::array();
  for (const FitReport& report : reports) devices.push_back(to_json(report));
  return json_fields::pretty(Json{{"axis", reports.front().axis}, {"devices", devices}});
}

std::string fit_text(const std::vector<FitReport>& reports, const std::string& other_axis) {
  const FitReport& first = reports.front();
  const auto found = [](const FitReport& report) {
    return report.value        ? std::to_string(*report.value)
           : report.is_stopped ? report.trials.back().outcome
                               : "nothing fits";
  };
  const auto peak = [](const FitReport& report) {
    return report.value ? report.answer().peak_bytes : std::nullopt;
  };
  const auto share = [&](const FitReport& report) {
    return report.value ? share_cell(report, *peak(report)) : "";
  };
  const Fields<FitReport> fields{
      {other_axis, As::figure, [&](const FitReport& report) { return value_at(report, other_axis); }},
      {(first.timed.empty() ? "largest " : "best ") + first.axis, As::figure, found},
      {"recorded", As::size, peak},
      {"", As::bytes, peak, "", ""},
      {"of the budget", As::figure, share, "", ""},
      {"trials", As::number, [](const FitReport& report) { return report.trials.size(); }}};
  std::string notes;
  for (const FitReport& report : reports) {
    for (const std::string& note : report.notes) {
      const std::string line = fmt::format("  {}\n", note);
      if (notes.find(line) == std::string::npos) notes += line;
    }
    if (!report.reproduce.empty()) notes += fmt::format("  reproduce: {}\n", report.reproduce);
  }
  std::string text = title(first, other_axis);
  if (!first.formula.empty()) text += fmt::format("  peak = {}\n", first.formula);
  return plain_text(text + rows_text(fields, reports) + notes);
}

std::string fit_json(const std::vector<FitReport>& reports, const std::string& other_axis) {
  Json rows = Json::array();
  for (const FitReport& report : reports) rows.push_back(to_json(report));
  return json_fields::pretty({{"axis", reports.front().axis}, {"other_axis", other_axis}, {"fits", rows}});
}

}  // namespace peakmark
