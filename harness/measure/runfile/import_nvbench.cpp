#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "measure/runfile/import_sources.hpp"

namespace peakmark::import_sources {
namespace {

/// `meta.version.json.major`.
constexpr Size kJsonMajor = 1;

/// The summary of RAPIDS with the peak of its device memory.
constexpr const char* kDevicePeak = "peak_memory_usage";

/// A way in which nvbench measures times. Its summaries are PREFIX + `mean`, `median`, `min`, `max`.
struct Clock {
  const char* prefix;
  std::optional<std::string_view> source;
  std::optional<std::string_view> cache;
};
const std::array kClocks{Clock{"nv/cold/time/gpu/", time_source::device, cache_state::cold},
                         Clock{"nv/batch/time/gpu/", time_source::device, cache_state::hot},
                         Clock{"nv/cpu_only/time/cpu/", std::nullopt, std::nullopt},
                         Clock{"nv/cold/time/cpu/", std::nullopt, std::nullopt}};

/// Returns the list at `key`; an empty list for null, which nvbench writes for it.
Json list_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return Json::array();
  if (!found->is_array()) json_fields::wrong_type(*found, "a list");
  return *found;
}

/// Returns a number, which nvbench writes as text; null if it is infinite or not a number.
std::optional<double> number_of(const Json& value, const std::string& what) {
  if (value.is_null()) return std::nullopt;
  if (value.is_number()) return value.get<double>();
  std::string text;
  json_fields::read(value, text);
  const std::optional<double> number = parse_number<double>(text);
  if (!number) throw UsageError(fmt::format("{}: '{}' is not a number", what, text));
  return std::isfinite(*number) ? number : std::nullopt;
}

/// Returns the value of each summary of a state, by tag.
std::map<std::string, Json> summaries_of(const Json& state) {
  std::map<std::string, Json> values;
  for (const Json& summary : list_at(state, "summaries")) {
    for (const Json& data : list_at(summary, "data")) {
      if (data.at("name") == "value") values[summary.at("tag").get<std::string>()] = data.at("value");
    }
  }
  return values;
}

struct StateTime {
  GpuTime time;
  const Clock* clock;
  bool is_mean;
};

std::optional<StateTime> time_of(const std::map<std::string, Json>& summaries, const std::string& name) {
  for (const Clock& clock : kClocks) {
    const auto ns = [&](const char* statistic) -> std::optional<double> {
      const std::string tag = std::string(clock.prefix) + statistic;
      const auto found = summaries.find(tag);
      if (found == summaries.end()) return std::nullopt;
      const std::optional<double> seconds = number_of(found->second, fmt::format("{} of {}", tag, name));
      if (seconds && *seconds < 0)
        throw UsageError(fmt::format("{} of {} is {}; must be 0 or more", tag, name, *seconds));
      return seconds.value_or(0) > 0 ? std::optional(*seconds * 1e9) : std::nullopt;
    };
    const std::optional<double> median = ns("median");
    const std::optional<double> middle = median ? median : ns("mean");
    if (!middle) continue;
    return StateTime{
        {*middle, ns("min").value_or(*middle), ns("max").value_or(*middle), {}}, &clock, !median};
  }
  return std::nullopt;
}

AxisValue axis_value(const Json& axis) {
  const Json& value = axis.at("value");
  if (value.is_number_integer()) {
    Size size = 0;
    json_fields::read(value, size);
    return size;
  }
  std::string text = value.is_number() ? value.dump() : value.get<std::string>();
  const std::optional<Size> size = parse_number<Size>(text);
  if (size && axis.value("type", "") == "int64") return *size;
  const std::optional<double> number = parse_float(text);
  if (number && axis.value("type", "") == "float64") return *number;
  return text;
}

Observation state_observation(const Json& benchmark, const Json& state, const Source& source) {
  Observation observation;
  observation.variant = benchmark.at("name").get<std::string>();
  observation.case_name = observation.variant;
  std::vector<std::pair<std::string, AxisValue>> axes;
  for (const Json& axis : list_at(state, "axis_values")) {
    axes.emplace_back(axis.at("name").get<std::string>(), axis_value(axis));
    observation.case_name += fmt::format("/{}:{}", axes.back().first, to_text(axes.back().second));
  }
  observation.axes = Parameters(std::move(axes));
  if (state.at("is_skipped").get<bool>()) {
    observation.outcome = Outcome::unsupported;
    observation.message = public_text(state.value("skip_reason", ""), source.texts);
    return observation;
  }
  const std::map<std::string, Json> summaries = summaries_of(state);
  if (const auto found = time_of(summaries, observation.case_name)) {
    observation.gpu_time = found->time;
    observation.time_source = found->clock->source;
    observation.cache = found->clock->cache;
    if (found->is_mean) observation.statistic = time_statistic::mean;
  } else {
    observation.message = std::string(kNoTime) + "no summary has one above 0";
  }
  const std::string peak_tag = source.options.peak_counter.value_or(kDevicePeak);
  if (const auto peak = summaries.find(peak_tag); peak != summaries.end()) {
    const auto bytes = number_of(peak->second, fmt::format("{} of {}", peak_tag, observation.case_name));
    if (bytes) observation.requested_peak_bytes = checked_bytes(*bytes, peak_tag, observation.case_name);
  }
  for (const auto& [tag, value] : summaries) {
    if (tag == peak_tag || tag == kDevicePeak || tag.starts_with("nv/")) continue;
    const std::optional<double> number = value.is_string()   ? parse_number<double>(value.get<std::string>())
                                         : value.is_number() ? std::optional(value.get<double>())
                                                             : std::nullopt;
    if (number) add_counter(observation, tag, *number);
  }
  return observation;
}

std::optional<Size> size_at(const Json& device, const char* key) {
  const auto found = device.find(key);
  if (found == device.end() || found->is_null()) return std::nullopt;
  Size size = 0;
  json_fields::read(*found, size);
  return size;
}

std::optional<Size> mhz_at(const Json& device, const char* key) {
  const std::optional<Size> hertz = size_at(device, key);
  return hertz ? std::optional(*hertz / 1'000'000) : std::nullopt;
}

void check_json_version(const Json& json) {
  const Json::json_pointer place("/meta/version/json/major");
  if (!json.contains(place)) {
    throw UsageError(
        "meta.version.json is missing: it is of an nvbench before its JSON 1.0; run that program again");
  }
  Size major = 0;
  json_fields::read(json.at(place), major);
  if (major == kJsonMajor) return;
  throw UsageError(fmt::format(
      "meta.version.json is {}: this peakmark imports version {} of nvbench's JSON; use a newer peakmark",
      major, kJsonMajor));
}

void set_nvbench(RunContext& context, const Source& source) {
  const ImportOptions& options = source.options;
  if (!options.date) {
    throw UsageError(
        "no date: nvbench writes none; name the date of these results: --date 2026-01-31T02:00:00Z (of the "
        "file: --date \"$(date -u -r FILE +%FT%TZ)\")");
  }
  context.date = *options.date;
  context.backend = options.backend.value_or("cuda");
  const Json argv = source.json.at("meta").value("argv", Json::array());
  if (argv.is_array() && !argv.empty()) context.worker = program_name_of(argv.front());
  context.suite = options.suite.value_or(context.worker.empty() ? "import" : context.worker);
  context.environment[kImportedFrom] = "nvbench";
}

/// Sets the device of a run: its entry in `devices`, or `--device` if the state names none.
void set_device(RunContext& context, const Json& id, const Source& source) {
  for (const Json& device : list_at(source.json, "devices")) {
    if (device.at("id") != id) continue;
    context.device = device.at("name").get<std::string>();
    context.device_memory_bytes = size_at(device, "global_memory_size");
    context.clocks.max_memory_mhz = mhz_at(device, "global_memory_bus_peak_clock_rate");
    context.clocks.memory_bus_bits = size_at(device, "global_memory_bus_width");
  }
  if (source.options.device) context.device = *source.options.device;
  if (context.device.empty())
    throw UsageError(fmt::format("device {} is not in `devices`; name it with --device NAME", id.dump()));
}

}  // namespace

ImportedResults read_nvbench(const Source& source) {
  check_json_version(source.json);
  ImportedResults results;
  std::vector<Json> ids;
  for (const Json& benchmark : source.json.at("benchmarks")) {
    for (const Json& state : list_at(benchmark, "states")) {
      const Json id = state.contains("device") ? state.at("device") : Json(nullptr);
      auto place = static_cast<std::size_t>(std::ranges::find(ids, id) - ids.begin());
      if (place == ids.size()) {
        ids.push_back(id);
        Run& run = results.runs.emplace_back(begin_run(source, id.dump()));
        set_nvbench(run.context, source);
        set_device(run.context, id, source);
      }
      add_case(results.runs[place], state_observation(benchmark, state, source));
    }
  }
  if (ids.empty()) throw UsageError("no benchmark in it");
  if (source.options.device && ids.size() > 1) {
    throw UsageError(fmt::format("--device names one device, but the file has results of {}",
                                 quantity(ids.size(), "device")));
  }
  for (Run& run : results.runs) end_run(run);
  return results;
}

}  // namespace peakmark::import_sources
