#include "analyse/history/exports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"
#include "base/pattern.hpp"
#include "base/text.hpp"
#include "measure/runfile/json_fields.hpp"
#include "measure/sweep/nearest_word.hpp"

namespace peakmark::history {
namespace {

using json_fields::Json;
using json_fields::or_null;

/// Writes bytes as integers.
Json json_of(const std::string& metric, const std::optional<double>& value) {
  if (!value) return nullptr;
  if (trend::metric::is_exact(metric)) return static_cast<std::int64_t>(*value);
  return *value;
}

std::string text_of(const std::string& metric, const std::optional<double>& value) {
  if (!value) return "";
  if (trend::metric::is_exact(metric)) return std::to_string(static_cast<std::int64_t>(*value));
  return fmt::format("{}", *value);
}

/// Returns `text`, with a `'` before it if a spreadsheet would treat it as a formula.
std::string no_formula(const std::string& text) {
  const bool is_formula = text.find_first_of("=+-@\t\r") == 0;
  return (is_formula ? "'" : "") + text;
}

/// Returns a CSV cell, quoted if necessary.
std::string cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

/// Returns a YAML scalar, quoted like JSON.
std::string yaml(const std::string& text) {
  return json_fields::one_line(Json(text));
}

std::string column_name(const trend::Series& series) {
  return no_formula(series.case_name + " " + series.metric);
}

Pattern compile_filter(const std::string& filter) {
  try {
    return Pattern(filter);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("--filter '{}': malformed regular expression: {}", filter, error.what()));
  }
}

void check_metrics(const std::vector<std::string>& metrics, const trend::DeviceHistory& device) {
  std::vector<std::string> known(trend::metric::measured.begin(), trend::metric::measured.end());
  for (const trend::Series& one : device.series) {
    if (std::ranges::find(known, one.metric) == known.end()) known.push_back(one.metric);
  }
  for (const std::string& metric : metrics) {
    if (std::ranges::find(known, metric) != known.end()) continue;
    throw UsageError(fmt::format("--metric '{}': unknown metric{}", metric, suggest_word(metric, known)));
  }
}

Json json_of(const trend::HistoryRun& run, const trend::DeviceHistory& device) {
  return Json{{"id", run.id},
              {"date", run.date},
              {"suite", run.suite},
              {"commit", run.commit},
              {"branch", run.branch},
              {"device", device.device},
              {"backend", device.backend},
              {"driver", run.driver},
              {"platform", run.platform},
              {"build", run.build},
              {"host_name", run.host_name},
              {"reference_copy_ns", or_null(run.reference_copy_ns)},
              {"reference_arithmetic_ns", or_null(run.reference_arithmetic_ns)},
              {"environment", Json(run.environment)}};
}

template <typename T, typename ToJson>
Json json_list(const std::vector<std::optional<T>>& values, ToJson&& to_json) {
  Json::array_t list;
  for (const std::optional<T>& value : values) list.push_back(to_json(value));
  return list;
}

/// Marks the thinned runs. Those of the base branch were not read.
void thin(trend::DeviceHistory& device, const RunLimits& limits, std::vector<bool>& is_out) {
  if (limits.max_runs == 0) return;
  std::vector<std::size_t> places;
  std::vector<std::string_view> suites;
  for (std::size_t run = 0; run < is_out.size(); ++run) {
    if (is_out[run]) continue;
    places.push_back(run);
    suites.emplace_back(device.runs[run].suite);
  }
  const std::vector<bool> is_kept = thinned_runs(suites, limits.max_runs);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (is_kept[i]) {
      ++kept;
    } else {
      is_out[places[i]] = true;
      device.left_out.emplace(device.runs[places[i]].id, kept);
    }
  }
}

/// Removes runs, and the cases and series that were only in them.
void keep_runs(trend::DeviceHistory& device, const ExportChoice& choice) {
  const std::size_t first = choice.with_base ? 0 : device.first_of_branch();
  std::vector<bool> is_out(device.runs.size());
  for (std::size_t run = 0; run < is_out.size(); ++run)
    is_out[run] = run < first || device.runs[run].date < choice.since;
  thin(device, choice, is_out);
  if (std::ranges::find(is_out, true) == is_out.end()) return;
  std::vector<std::size_t> kept;
  for (std::size_t run = 0; run < is_out.size(); ++run) {
    if (!is_out[run]) kept.push_back(run);
  }
  device = with_runs(std::move(device), kept);
  device.base_runs.clear();
}

/// The measures of Bencher: `latency` is in nanoseconds; Bencher creates the others at their first value.
const std::map<std::string, std::string, std::less<>> kBencherMeasures{
    {"requested_peak_bytes", "peak-bytes"},
    {"setup_bytes", "setup-bytes"},
    {"gpu_time_ns", "latency"},
    {"estimate_ratio", "peak-over-estimate"}};

/// Bencher's limit for a name.
constexpr std::size_t kMaxBencherName = 1024;

}  // namespace

trend::DeviceHistory chosen(trend::DeviceHistory device, const ExportChoice& choice) {
  check_metrics(choice.metrics, device);
  const Pattern filter = compile_filter(choice.filter);
  keep_runs(device, choice);
  const auto is_out = [&](const std::string& case_name) {
    return !choice.filter.empty() && !filter.is_in(case_name);
  };
  std::erase_if(device.outcomes, [&](const trend::CaseOutcomes& one) { return is_out(one.case_name); });
  std::erase_if(device.series, [&](const trend::Series& series) {
    const bool is_asked =
        choice.metrics.empty() || std::ranges::find(choice.metrics, series.metric) != choice.metrics.end();
    const bool has_gap = std::ranges::any_of(series.values, [](const auto& value) { return !value; });
    return !is_asked || (choice.without_gaps && has_gap) || is_out(series.case_name);
  });
  return device;
}

std::string series_csv(const trend::DeviceHistory& device) {
  std::string text = "time,commit,run";
  for (const trend::Series& series : device.series) text += "," + cell(column_name(series));
  text += "\n";
  for (std::size_t run = 0; run < device.runs.size(); ++run) {
    const trend::HistoryRun& one_run = device.runs[run];
    text +=
        fmt::format("{},{},{}", one_run.date, cell(no_formula(one_run.commit)), cell(no_formula(one_run.id)));
    for (const trend::Series& series : device.series)
      text += "," + text_of(series.metric, series.values[run]);
    text += "\n";
  }
  return text;
}

void write_json_lines(const trend::DeviceHistory& device, const TextSink& sink) {
  std::unordered_map<std::string_view, std::vector<const trend::Series*>> series;
  for (const trend::Series& one : device.series) series[one.case_name].push_back(&one);
  for (std::size_t run = 0; run < device.runs.size(); ++run) {
    const trend::HistoryRun& one_run = device.runs[run];
    std::string text;
    for (const trend::CaseOutcomes& sweep_case : device.outcomes) {
      if (!sweep_case.outcomes[run]) continue;
      Json line{{"run", one_run.id},
                {"date", one_run.date},
                {"suite", one_run.suite},
                {"commit", one_run.commit},
                {"branch", one_run.branch},
                {"device", device.device},
                {"backend", device.backend},
                {"driver", one_run.driver},
                {"case", sweep_case.case_name},
                {"outcome", *sweep_case.outcomes[run]}};
      for (const std::string_view metric : trend::metric::measured) line[std::string(metric)] = nullptr;
      for (const trend::Series* const one : series[sweep_case.case_name]) {
        line[one->metric] = json_of(one->metric, one->values[run]);
      }
      text += json_fields::one_line(line) + "\n";
    }
    sink(text);
  }
}

void write_series_for_reports(const trend::DeviceHistory& device, const std::vector<KnownCase>& cases,
                              const TextSink& sink) {
  std::unordered_map<std::string_view, const KnownCase*> known;
  for (const KnownCase& one : cases) known.emplace(one.name, &one);
  const auto text = [](const std::optional<std::string>& value) { return or_null(value); };

  Json::array_t runs;
  for (const trend::HistoryRun& run : device.runs) runs.push_back(json_of(run, device));
  sink(json_fields::one_line(Json{{"runs", std::move(runs)}, {"left_out", Json(device.left_out)}}) + "\n");
  auto series = device.series.begin();  // in order of case, like the outcomes
  for (const trend::CaseOutcomes& sweep_case : device.outcomes) {
    const auto found = known.find(sweep_case.case_name);
    const KnownCase* const is = found == known.end() ? nullptr : found->second;
    Json line{{"case", sweep_case.case_name},
              {"device", device.device},
              {"backend", device.backend},
              {"variant", is == nullptr ? Json(nullptr) : Json(is->variant)},
              {"axes", is == nullptr ? Json::object() : json_fields::to_json(is->axes)},
              {"series", Json::object()}};
    for (; series != device.series.end() && series->case_name == sweep_case.case_name; ++series) {
      line["series"][series->metric] = json_list(
          series->values, [&](const std::optional<double>& value) { return json_of(series->metric, value); });
    }
    line["outcomes"] = json_list(sweep_case.outcomes, text);
    sink(json_fields::one_line(line) + "\n");
  }
}

std::string bencher_metrics(const std::vector<trend::DeviceHistory>& devices, const std::string& run) {
  Json cases = Json::object();
  for (const trend::DeviceHistory& device : devices) {
    const std::optional<std::size_t> named = trend::find_run(device, run);
    std::unordered_map<std::string_view, std::size_t> run_of_case;
    for (const trend::CaseOutcomes& one : device.outcomes) {
      for (std::size_t place = 0; place < one.outcomes.size(); ++place) {
        if (one.outcomes[place] && (run == "latest" || place == named)) run_of_case[one.case_name] = place;
      }
    }
    for (const trend::Series& series : device.series) {
      const auto place = run_of_case.find(series.case_name);
      const auto measure = kBencherMeasures.find(series.metric);
      if (place == run_of_case.end() || measure == kBencherMeasures.end()) continue;
      const std::optional<double>& value = series.values[place->second];
      if (!value) continue;
      const std::string name =
          devices.size() > 1 ? device.device + ": " + series.case_name : series.case_name;
      cases[shortened(name, kMaxBencherName)][measure->second]["value"] = json_of(series.metric, value);
    }
  }
  return json_fields::pretty(cases, 1);
}

std::string otava_configuration(const trend::DeviceHistory& device, const std::string& csv_file) {
  std::string text = fmt::format(
      "tests:\n  peakmark:\n    type: csv\n    file: {}\n    time_column: time\n    attributes: [commit, "
      "run]\n"
      "    metrics:\n",
      yaml(csv_file));
  for (const trend::Series& series : device.series) {
    // For every metric, smaller is better.
    text += fmt::format("      {}: {{column: {}, direction: -1}}\n", yaml(column_name(series)),
                        yaml(column_name(series)));
  }
  return text;
}

}  // namespace peakmark::history
