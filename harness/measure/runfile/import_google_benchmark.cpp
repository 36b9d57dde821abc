#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/date.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "measure/runfile/import_sources.hpp"
#include "measure/statistics/rank_statistics.hpp"

namespace peakmark::import_sources {
namespace {

/// `context.json_schema_version`; files of older releases have none.
constexpr Size kSchemaVersion = 1;

/// Counters of device memory: that of peakmark::DeviceMemoryCounters, and that of RAPIDS. `max_bytes_used` is
/// the count of the program's memory manager, often of host memory.
constexpr std::array<const char*, 2> kDevicePeaks{"device_peak", "peak_memory_usage"};

/// Keys of a row that are no counters of the user, and counters that are figures of peakmark.
const std::set<std::string, std::less<>> kOwnKeys{"name",
                                                  "family_index",
                                                  "per_family_instance_index",
                                                  "run_name",
                                                  "run_type",
                                                  "repetitions",
                                                  "threads",
                                                  "repetition_index",
                                                  "aggregate_name",
                                                  "aggregate_unit",
                                                  "iterations",
                                                  "real_time",
                                                  "cpu_time",
                                                  "time_unit",
                                                  "label",
                                                  "device_peak",
                                                  "peak_memory_usage",
                                                  "bytes_per_second",
                                                  "allocs_per_iter",
                                                  "max_bytes_used",
                                                  "error_occurred",
                                                  "error_message",
                                                  "skipped",
                                                  "skip_message",
                                                  "net_heap_growth",
                                                  "total_allocated_bytes"};

/// Statistics that can replace the repetitions.
const std::set<std::string, std::less<>> kUsedAggregates{"median", "mean", "min", "max"};

/// The rows of one benchmark.
struct Rows {
  std::size_t repetitions = 0;
  std::vector<Size> indices;                      ///< index of each repetition that has one
  std::optional<std::pair<Size, Size>> instance;  ///< family and instance, since 1.5.5
  bool is_mixed = false;                          ///< two benchmarks have this name
  std::size_t measured = 0;                       ///< number of repetitions without an error
  std::vector<double> times_ns;                   ///< of the repetitions that have one
  double unit_ns = 1;                             ///< ns per unit of the times in the file
  std::map<std::string, std::optional<double>, std::less<>> aggregates_ns;
  std::optional<double> peak_bytes;  ///< maximum over the repetitions
  std::optional<double> aggregate_peak_bytes;
  std::map<std::string, std::vector<double>> counters;  ///< of the user, of each repetition that has them
  std::map<std::string, double> aggregate_counters;     ///< their median, or else their mean
  Outcome outcome = Outcome::ok;
  std::string message;
};

std::string text_or_empty(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

bool is_true(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_boolean() && found->get<bool>();
}

/// Returns null if the key is missing or null: Google Benchmark's NaN.
std::optional<double> number(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return std::nullopt;
  double value = 0;
  json_fields::read(*found, value);
  return value;
}

double unit_ns(const Json& row, const std::string& name) {
  const std::string unit = text_or_empty(row, "time_unit");
  if (unit.empty() || unit == "ns") return 1;
  if (unit == "us") return 1e3;
  if (unit == "ms") return 1e6;
  if (unit == "s") return 1e9;
  throw UsageError(fmt::format("unknown time_unit '{}' of {}: must be ns, us, ms or s", unit, name));
}

/// Returns the time of a row; also null for 0, because no benchmark takes no time.
std::optional<double> time_ns(const Json& row, const std::string& name) {
  const std::optional<double> time = number(row, "real_time");
  if (!time || *time == 0) return std::nullopt;
  if (*time < 0) throw UsageError(fmt::format("real_time of {} is {}; must be 0 or more", name, *time));
  return *time * unit_ns(row, name);
}

std::optional<double> peak_of(const Json& row, const ImportOptions& options) {
  std::optional<double> peak;
  if (options.peak_counter) {
    peak = number(row, options.peak_counter->c_str());
  } else {
    for (const char* const counter : kDevicePeaks) {
      if (!peak) peak = number(row, counter);
    }
  }
  // Google Benchmark's value for an unknown number of bytes.
  constexpr auto kUnknown = static_cast<double>(std::numeric_limits<std::int64_t>::max());
  return peak == kUnknown ? std::nullopt : peak;
}

/// Returns the statistic of a row; empty for a repetition. Before 1.5 rows have no type: then `names`, all
/// names of the file, decides.
std::string aggregate_of(const Json& row, const std::string& name, const std::set<std::string>& names) {
  if (row.contains("big_o") || row.contains("rms") || row.contains("cpu_coefficient")) return "fit";
  if (row.contains("run_type"))
    return text_or_empty(row, "run_type") == "aggregate" ? row.at("aggregate_name").get<std::string>() : "";
  for (std::string word : {"mean", "median", "stddev", "cv"}) {
    if (!name.ends_with("_" + word)) continue;
    const std::string base = name.substr(0, name.size() - word.size());
    if (names.contains(base + "mean") && names.contains(base + "stddev")) return word;
  }
  return "";
}

std::string base_name(const Json& row, const std::string& aggregate) {
  std::string run_name = text_or_empty(row, "run_name");
  // Before 1.5, the run_name of an aggregate is its own name.
  if (!run_name.empty() && row.contains("run_type")) return run_name;
  const std::string name = row.at("name").get<std::string>();
  return aggregate.empty() ? name : name.substr(0, name.size() - aggregate.size() - 1);
}

/// Notes which benchmark and repetition a row belongs to.
void note_origin(Rows& rows, const Json& row, const std::string& aggregate) {
  if (row.contains("family_index") && row.contains("per_family_instance_index")) {
    std::pair<Size, Size> instance;
    json_fields::field(row, "family_index", instance.first);
    json_fields::field(row, "per_family_instance_index", instance.second);
    rows.is_mixed = rows.is_mixed || instance != rows.instance.value_or(instance);
    rows.instance = instance;
  }
  if (!aggregate.empty()) {
    rows.is_mixed = rows.is_mixed || rows.aggregates_ns.contains(aggregate);
    return;
  }
  ++rows.repetitions;
  if (!row.contains("repetition_index")) return;
  Size index = 0;
  json_fields::field(row, "repetition_index", index);
  rows.indices.push_back(index);
}

/// Calls `take` for each counter of the user in a row.
template <typename Take>
void each_counter(const Json& row, const ImportOptions& options, Take take) {
  for (const auto& [key, value] : row.items()) {
    const bool is_peak = options.peak_counter && *options.peak_counter == key;
    if (value.is_number() && !kOwnKeys.contains(key) && !is_peak) take(key, value.template get<double>());
  }
}

void take_row(Rows& rows, const Json& row, const std::string& name, const std::string& aggregate,
              const ImportOptions& options) {
  note_origin(rows, row, aggregate);
  const bool has_error = is_true(row, "error_occurred");
  if (has_error || is_true(row, "skipped")) {
    rows.outcome = has_error ? Outcome::crashed : Outcome::unsupported;
    rows.message = text_or_empty(row, has_error ? "error_message" : "skip_message");
    return;
  }
  if (!aggregate.empty()) {
    rows.aggregates_ns.emplace(aggregate, time_ns(row, name));
    if (aggregate == "median" || !rows.aggregate_peak_bytes)
      rows.aggregate_peak_bytes = peak_of(row, options);
    if (aggregate == "median" || (aggregate == "mean" && rows.aggregate_counters.empty())) {
      each_counter(row, options,
                   [&](const std::string& name, double value) { rows.aggregate_counters[name] = value; });
    }
    return;
  }
  ++rows.measured;
  if (const auto time = time_ns(row, name)) rows.times_ns.push_back(*time);
  rows.unit_ns = unit_ns(row, name);
  if (const auto peak = peak_of(row, options))
    rows.peak_bytes = std::max(rows.peak_bytes.value_or(*peak), *peak);
  each_counter(row, options,
               [&](const std::string& name, double value) { rows.counters[name].push_back(value); });
}

std::optional<double> aggregate_ns(const Rows& rows, const char* name) {
  const auto found = rows.aggregates_ns.find(name);
  return found == rows.aggregates_ns.end() ? std::nullopt : found->second;
}

/// Returns true if the program's mean is the mean of these times. Before 1.3, times are whole numbers of
/// their unit.
bool have_mean(const Rows& rows) {
  if (rows.measured == 0 || !rows.aggregates_ns.contains("mean")) return false;
  const double mean = aggregate_ns(rows, "mean").value_or(0);
  const double expected =
      std::accumulate(rows.times_ns.begin(), rows.times_ns.end(), 0.0) / static_cast<double>(rows.measured);
  constexpr double kRelativeDifference = 0.01;
  return std::abs(mean - expected) <= std::max(rows.unit_ns, kRelativeDifference * expected);
}

/// Returns true if the rows are repetitions of one benchmark. Before 1.5 they have no index, and in 1.5.4 all
/// have index 0 with --benchmark_enable_random_interleaving. Then the mean decides, which every release
/// reports for two or more repetitions.
bool are_of_one_benchmark(const Rows& rows) {
  if (rows.is_mixed) return false;
  if (rows.indices.size() == rows.repetitions) {
    const std::set<Size> different(rows.indices.begin(), rows.indices.end());
    if (different.size() == rows.repetitions) return true;
    if (different != std::set<Size>{0}) return false;
  } else if (rows.measured < 2) {
    return true;
  }
  return have_mean(rows);
}

std::optional<GpuTime> gpu_time(const Rows& rows) {
  if (!rows.times_ns.empty()) {
    std::vector<std::vector<double>> blocks;
    blocks.reserve(rows.times_ns.size());
    for (const double ns : rows.times_ns) blocks.push_back({ns});
    return summarise_blocks(std::move(blocks));
  }
  std::optional<double> middle = aggregate_ns(rows, "median");
  if (!middle) middle = aggregate_ns(rows, "mean");
  if (!middle) return std::nullopt;
  return GpuTime{
      *middle, aggregate_ns(rows, "min").value_or(*middle), aggregate_ns(rows, "max").value_or(*middle), {}};
}

/// Returns `mean` for a single measurement, which is the mean of its iterations, and for results without a
/// median; null for the median of repetitions.
std::optional<std::string> statistic_of(const Rows& rows) {
  const bool is_mean = rows.times_ns.empty() ? !aggregate_ns(rows, "median") : rows.times_ns.size() == 1;
  return is_mean ? std::optional<std::string>(time_statistic::mean) : std::nullopt;
}

/// Sets variant and axes: `BM_copy/n:8/64/real_time` is variant `BM_copy` with the axis `n`. Numbers without
/// a name are only in the name of the case.
void set_axes(Observation& observation) {
  static const std::set<std::string, std::less<>> kMarks{"real_time", "manual_time", "process_time"};
  std::vector<std::pair<std::string, AxisValue>> axes;
  std::string variant;
  std::string_view rest = observation.case_name;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    const std::size_t colon = part.find(':');
    const std::string_view name = part.substr(0, colon);
    const bool is_named =
        colon != std::string_view::npos && is_axis_name(name) && part.substr(colon, 2) != "::";
    if (is_named) {
      const std::string_view value = part.substr(colon + 1);
      const bool is_known = std::ranges::any_of(axes, [&](const auto& axis) { return axis.first == name; });
      const std::optional<Size> size = parse_number<Size>(value);
      if (!is_known) axes.emplace_back(name, size ? AxisValue(*size) : AxisValue(std::string(value)));
    } else if (!parse_number<Size>(part) && !kMarks.contains(part)) {
      variant += (variant.empty() ? "" : "/") + std::string(part);
    }
  }
  observation.variant = variant.empty() ? observation.case_name : variant;
  observation.axes = Parameters(std::move(axes));
}

Observation benchmark_observation(const std::string& name, const Rows& rows, const Source& source) {
  Observation observation;
  observation.case_name = name;
  observation.outcome = rows.outcome;
  observation.message = public_text(rows.message, source.texts);
  if (rows.outcome == Outcome::ok) {
    observation.gpu_time = gpu_time(rows);
    if (observation.gpu_time) observation.statistic = statistic_of(rows);
    if (!observation.gpu_time) observation.message = std::string(kNoTime) + "real_time is 0 or not a number";
    const std::optional<double> peak = rows.times_ns.empty() ? rows.aggregate_peak_bytes : rows.peak_bytes;
    const std::string counter = source.options.peak_counter.value_or("device peak");
    if (peak) observation.requested_peak_bytes = checked_bytes(*peak, counter, name);
    const auto add = [&](const std::string& metric, double value) {
      add_counter(observation, metric, value, metric == "items_per_second" ? metric_direction::higher : "");
    };
    for (const auto& [metric, values] : rows.counters) add(metric, quantile(values, 0.5));
    for (const auto& [metric, value] : rows.aggregate_counters) {
      if (rows.measured == 0) add(metric, value);
    }
  }
  set_axes(observation);
  return observation;
}

std::string date_of(const Json& context, const ImportOptions& options, std::vector<std::string>& notes) {
  if (options.date) return *options.date;
  const std::string text = text_or_empty(context, "date");
  const std::optional<ParsedDate> date = parse_date(text);
  if (!date) {
    throw UsageError(fmt::format(
        "context.date '{}': not a date; name the date of these results: --date 2026-01-31T02:00:00Z", text));
  }
  if (!date->has_offset) {
    notes.push_back(
        fmt::format("its date {} has no time zone, and was read as UTC; --date DATE names another", text));
  }
  return utc_date(date->moment);
}

void check_schema_version(const Json& context) {
  if (!context.contains("json_schema_version")) return;
  Size version = 0;
  json_fields::field(context, "json_schema_version", version);
  if (version == kSchemaVersion) return;
  throw UsageError(fmt::format(
      "context.json_schema_version is {}: this peakmark imports version {} of Google Benchmark's JSON; use a "
      "newer peakmark",
      version, kSchemaVersion));
}

void set_program(RunContext& context, const Json& json, const ImportOptions& options) {
  if (!options.device || !options.backend) {
    throw UsageError(
        "no device: Google Benchmark writes none; name it with --device NAME --backend BACKEND, as `peakmark "
        "devices` prints them");
  }
  context.device = *options.device;
  context.backend = *options.backend;
  if (json.contains("executable")) context.worker = program_name_of(json.at("executable"));
  context.suite = options.suite.value_or(context.worker.empty() ? "import" : context.worker);
  context.environment[kImportedFrom] = "Google Benchmark";
  if (is_true(json, "cpu_scaling_enabled"))
    context.warnings.emplace_back("CPU frequency scaling was on: times may vary");
  if (text_or_empty(json, "library_build_type") == "debug")
    context.warnings.emplace_back("Google Benchmark was built as DEBUG: times may be too long");
}

}  // namespace

ImportedResults read_google_benchmark(Source source) {
  const Json& context = source.json.at("context");
  check_schema_version(context);
  // The name of the machine must not be published, not even in messages.
  const std::string host = text_or_empty(context, "host_name");
  if (!host.empty()) source.texts.words.emplace_back(host, "HOST");

  ImportedResults results;
  Run run = begin_run(source, "");
  set_program(run.context, context, source.options);
  run.context.date = date_of(context, source.options, results.notes);

  std::set<std::string> names;
  for (const Json& row : source.json.at("benchmarks")) names.insert(row.at("name").get<std::string>());
  std::vector<std::string> order;
  std::map<std::string, Rows> cases;
  for (const Json& row : source.json.at("benchmarks")) {
    const std::string aggregate = aggregate_of(row, row.at("name").get<std::string>(), names);
    if (!aggregate.empty() && !kUsedAggregates.contains(aggregate)) continue;
    const std::string name = base_name(row, aggregate);
    const auto [found, is_new] = cases.try_emplace(name);
    if (is_new) order.push_back(name);
    take_row(found->second, row, name, aggregate, source.options);
  }
  for (const std::string& name : order) {
    const Rows& rows = cases.at(name);
    if (!are_of_one_benchmark(rows)) refuse_equal_names(name);
    add_case(run, benchmark_observation(name, rows, source));
  }
  end_run(run);
  results.runs.push_back(std::move(run));
  return results;
}

}  // namespace peakmark::import_sources
