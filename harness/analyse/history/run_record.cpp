#include "analyse/history/run_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <sstream>
#include <unordered_set>
#include <utility>

#include "analyse/trend/trends.hpp"
#include "base/error.hpp"
#include "base/fingerprint.hpp"
#include "base/private_text.hpp"
#include "measure/runfile/context_json.hpp"
#include "measure/runfile/json_fields.hpp"
#include "measure/runfile/merge.hpp"
#include "measure/runfile/observation_json.hpp"
#include "measure/runfile/rounds.hpp"
#include "measure/statistics/rank_statistics.hpp"

namespace peakmark::history {

namespace {

using json_fields::Json;

/// Above this, doubles (which trends use) are not exact.
constexpr Size kMaxBytes = Size{1} << std::numeric_limits<double>::digits;

[[noreturn]] void refuse(const std::string& why) {
  throw UsageError("not added: " + why);
}

/// Returns true for `2026-01-31T02:00:00Z`. As texts, such dates are in the order of time.
bool is_date(const std::string& text) {
  constexpr std::string_view pattern = "dddd-dd-ddTdd:dd:ddZ";
  return std::equal(text.begin(), text.end(), pattern.begin(), pattern.end(), [](char c, char expected) {
    return expected == 'd' ? c >= '0' && c <= '9' : c == expected;
  });
}

void check_context(const Run& run) {
  const RunContext& context = run.context;
  if (!context.complete && context.partial.empty()) {
    refuse("incomplete run (context.complete is false); finish it with `peakmark run --resume`");
  }
  if (context.shard) {
    refuse(fmt::format("shard {} of {}; merge the shards with `peakmark merge`", context.shard->index,
                       context.shard->count));
  }
  if (context.id.empty()) refuse("no id");
  if (!is_date(context.date)) {
    refuse(fmt::format("malformed date '{}': must be like 2026-01-31T02:00:00Z", context.date));
  }
  if (context.device.empty()) refuse("no device");
}

void check_cases(const Run& run) {
  std::unordered_set<std::string_view> names;
  for (const Observation& observation : run.observations) {
    if (!names.insert(observation.case_name).second) {
      refuse(fmt::format("two observations of {}", observation.case_name));
    }
  }
  for (const PlannedCase& planned : run.context.planned) {
    if (!names.contains(planned.name) && run.context.partial.empty()) {
      refuse(fmt::format("no observation of {}; finish the run with `peakmark run --resume`", planned.name));
    }
  }
  if (names.empty()) refuse("no case");
}

void check_bytes(const Observation& observation, const char* what, const std::optional<Size>& bytes) {
  if (!bytes || (*bytes >= 0 && *bytes <= kMaxBytes)) return;
  refuse(fmt::format("{} of {} is {}; must be 0 to 2^53", what, observation.case_name, *bytes));
}

void check_time(const Observation& observation, double ns) {
  if (std::isfinite(ns) && ns >= 0) return;
  refuse(fmt::format("invalid time of {}: {} ns", observation.case_name, ns));
}

void check_figures(const Observation& observation) {
  check_bytes(observation, "requested_peak_bytes", observation.requested_peak_bytes);
  check_bytes(observation, "setup_bytes", observation.setup_bytes);
  check_bytes(observation, "leaked_bytes", observation.leaked_bytes);
  if (observation.estimate)
    check_bytes(observation, "bytes_estimated", observation.estimate->bytes_estimated);
  if (!observation.gpu_time) return;
  const GpuTime& time = *observation.gpu_time;
  for (const double ns : {time.median_ns, time.min_ns, time.max_ns}) check_time(observation, ns);
  for (const std::vector<double>& block : time.blocks) {
    for (const double ns : block) check_time(observation, ns);
  }
  if (!observation.gpu_time_again) return;
  for (const std::vector<double>& block : observation.gpu_time_again->blocks) {
    for (const double ns : block) check_time(observation, ns);
  }
}

/// Removes null and empty fields, so that hashes stay the same when a later MINOR adds fields.
Json without_empty(const Json& json) {
  if (!json.is_structured()) return json;
  Json kept = json.is_array() ? Json::array() : Json::object();
  for (const auto& [key, value] : json.items()) {
    Json rest = without_empty(value);
    if (json.is_array()) {
      kept.push_back(std::move(rest));
    } else if (!rest.is_null() && !(rest.is_structured() && rest.empty())) {
      kept[key] = std::move(rest);
    }
  }
  return kept;
}

std::int64_t hash_json(const Json& json) {
  Fingerprint fingerprint;
  fingerprint.add(json_fields::one_line(without_empty(json)));
  return static_cast<std::int64_t>(fingerprint.number());
}

/// Sets text and hash of the list. Only one case at a time is converted to JSON.
void set_planned(RunRecord& record, const std::vector<PlannedCase>& planned) {
  Fingerprint fingerprint;
  record.planned = "[";
  fingerprint.add_part("[");
  for (const PlannedCase& one : planned) {
    const Json json = to_json(one);
    if (&one != planned.data()) {
      record.planned += ",";
      fingerprint.add_part(",");
    }
    record.planned += json_fields::one_line(json);
    fingerprint.add_part(json_fields::one_line(without_empty(json)));
  }
  record.planned += "]";
  fingerprint.add("]");
  record.planned_hash = static_cast<std::int64_t>(fingerprint.number());
}

Json facts_json(const Observation& observation) {
  Json facts = to_json(observation);
  facts.erase(kTimeKey);
  facts.erase(kTimeAgainKey);
  facts[kTimeHotKey] = nullptr;
  facts[kThrottledKey] = nullptr;
  facts.erase(kMetricsKey);
  facts.erase(kDirectionsKey);
  for (Json& kernel : facts.at(kKernelsKey)) kernel.erase("ns");
  return facts;
}

ObservationRecord to_record(const Observation& observation, bool with_facts) {
  check_figures(observation);
  ObservationRecord record;
  record.case_name = observation.case_name;
  record.outcome = to_string(observation.outcome);
  record.requested_peak_bytes = observation.requested_peak_bytes;
  record.setup_bytes = observation.setup_bytes;
  record.leaked_bytes = observation.leaked_bytes;
  if (observation.estimate) record.bytes_estimated = observation.estimate->bytes_estimated;

  Json facts = facts_json(observation);
  if (with_facts) record.facts = json_fields::one_line(facts);
  record.facts_hash = hash_json(facts);

  record.gpu_time_ns = median_of_block_medians(observation.gpu_time);
  record.again_ns = median_of_block_medians(observation.gpu_time_again);
  if (observation.gpu_time) {
    record.median_ns = observation.gpu_time->median_ns;
    record.min_ns = observation.gpu_time->min_ns;
    record.max_ns = observation.gpu_time->max_ns;
  }
  if (!observation.kernels.empty()) {
    std::string& ns = record.kernel_ns.emplace();
    for (const KernelTime& kernel : observation.kernels) {
      ns += (ns.empty() ? "" : " ") + std::to_string(kernel.ns);
    }
  }
  if (!observation.metrics.empty()) {
    record.metrics = json_fields::one_line(
        Json{{kMetricsKey, observation.metrics}, {kDirectionsKey, observation.metric_directions}});
  }
  return record;
}

std::string make_digest(const RunRecord& record, std::int64_t context_hash) {
  Fingerprint fingerprint;
  fingerprint.add(std::to_string(context_hash));
  fingerprint.add(std::to_string(record.planned_hash));
  for (const ObservationRecord& observation : record.observations) {
    fingerprint.add(observation.case_name);
    fingerprint.add(std::to_string(observation.facts_hash));
    for (const auto& ns :
         {observation.gpu_time_ns, observation.median_ns, observation.min_ns, observation.max_ns}) {
      fingerprint.add(ns ? fmt::format("{}", *ns) : "");
    }
    fingerprint.add(observation.kernel_ns.value_or(""));
    // Added only if present, so that digests of runs without it stay the same.
    if (observation.again_ns) fingerprint.add(fmt::format("{}", *observation.again_ns));
    if (observation.metrics) fingerprint.add(*observation.metrics);
  }
  return fingerprint.text();
}

/// Runs `work` and converts JSON errors to UsageError.
template <typename Work>
auto checked(Work&& work) {
  try {
    return work();
  } catch (const Json::exception& error) {
    throw UsageError(fmt::format("the history is damaged: {}", json_fields::message_of(error)));
  }
}

Observation with_kernels(const std::string& facts, const std::string& kernel_ns) {
  Json json = Json::parse(facts);
  json[kTimeKey] = nullptr;
  json[kTimeAgainKey] = nullptr;
  std::istringstream ns(kernel_ns);
  for (Json& kernel : json.at(kKernelsKey)) {
    std::int64_t one = 0;
    ns >> one;
    kernel["ns"] = one;
  }
  return observation_from_json(json);
}

Observation to_observation(const ObservationRecord& record) {
  Observation observation = with_kernels(record.facts, record.kernel_ns.value_or(""));
  if (record.median_ns) {
    observation.gpu_time = GpuTime{*record.median_ns,
                                   record.min_ns.value_or(*record.median_ns),
                                   record.max_ns.value_or(*record.median_ns),
                                   {}};
  }
  if (record.again_ns)
    observation.gpu_time_again = GpuTime{*record.again_ns, *record.again_ns, *record.again_ns, {}};
  if (record.metrics) {
    const Json metrics = Json::parse(*record.metrics);
    json_fields::field(metrics, kMetricsKey, observation.metrics);
    json_fields::field(metrics, kDirectionsKey, observation.metric_directions);
  }
  return observation;
}

}  // namespace

std::int64_t RunRecord::ok() const {
  return std::ranges::count(observations, to_string(Outcome::ok), &ObservationRecord::outcome);
}

std::optional<double> median_of_block_medians(const std::optional<GpuTime>& time) {
  if (!time) return std::nullopt;
  const std::vector<double> medians = block_medians(*time);
  return medians.empty() ? time->median_ns : quantile(medians, 0.5);
}

std::int64_t hash_facts(const std::string& facts) {
  return checked([&] { return hash_json(Json::parse(facts)); });
}

std::string facts_text(const Observation& observation) {
  return json_fields::one_line(facts_json(observation));
}

RunRecord to_record(const Run& run, bool with_facts) {
  check_context(run);
  check_cases(run);
  RunRecord record;
  record.id = run.context.id;
  record.date = run.context.date;
  record.suite = run.context.suite;
  record.commit = run.context.commit;
  record.device = run.context.filed_under();
  record.backend = run.context.backend;
  record.driver = run.context.driver;
  record.build = run.context.build;
  record.host_name = run.context.host_name;
  set_planned(record, run.context.planned);
  Json context = to_json(run.context);
  record.context = json_fields::one_line(context);
  record.observations.reserve(run.observations.size());
  for (const Observation& observation : run.observations) {
    record.observations.push_back(to_record(observation, with_facts));
  }
  context.erase("minor");  // the digest must not depend on it
  record.digest = make_digest(record, hash_json(context));
  return record;
}

Run to_run(const RunRecord& record) {
  return checked([&] {
    Run run;
    Json context = Json::parse(record.context);
    std::vector<PlannedCase> planned;
    const std::array<json_fields::LongList, 1> lists{
        {{{}, [&](const Json& one) { planned.push_back(planned_case_from_json(one)); }}}};
    context["planned"] = json_fields::parse_with_long_lists(record.planned, lists);
    run.context = run_context_from_json(context);
    run.context.planned = std::move(planned);
    run.observations.reserve(record.observations.size());
    for (const ObservationRecord& observation : record.observations) {
      run.observations.push_back(to_observation(observation));
    }
    return run;
  });
}

std::map<std::string, std::string> expected_outcomes(const std::string& planned) {
  return checked([&] {
    std::map<std::string, std::string> expected;
    const std::array<json_fields::LongList, 1> lists{
        {{{}, [&](const Json& one) {
            const PlannedCase planned_case = planned_case_from_json(one);
            if (planned_case.expected_outcome != to_string(Outcome::ok))
              expected.emplace(planned_case.name, planned_case.expected_outcome);
          }}}};
    json_fields::parse_with_long_lists(planned, lists);
    return expected;
  });
}

std::map<std::string, GrowthAllowance> allowed_growth(const std::string& planned) {
  return checked([&] {
    std::map<std::string, GrowthAllowance> allowed;
    const std::array<json_fields::LongList, 1> lists{
        {{{}, [&](const Json& one) {
            const PlannedCase planned_case = planned_case_from_json(one);
            if (planned_case.limits.growth) allowed.emplace(planned_case.name, *planned_case.limits.growth);
          }}}};
    json_fields::parse_with_long_lists(planned, lists);
    return allowed;
  });
}

std::vector<std::string> planned_names(const std::string& planned) {
  return checked([&] {
    std::vector<std::string> names;
    const std::array<json_fields::LongList, 1> lists{
        {{{}, [&](const Json& one) { names.push_back(one.at("case").get<std::string>()); }}}};
    json_fields::parse_with_long_lists(planned, lists);
    return names;
  });
}

trend::HistoryRun to_history_run(RunContext context) {
  context.planned.clear();
  trend::HistoryRun result;
  static_cast<RunContext&>(result) = std::move(context);
  const ReferenceTime reference = result.reference.median();
  result.reference_copy_ns = reference.copy_ns;
  result.reference_arithmetic_ns = reference.arithmetic_ns;
  return result;
}

trend::HistoryRun to_history_run(const std::string& text) {
  return checked([&] {
    Json json = Json::parse(text);
    json["planned"] = Json::array();
    return to_history_run(run_context_from_json(json));
  });
}

Observation parse_facts(const std::string& facts) {
  return checked([&] { return with_kernels(facts, ""); });
}

std::map<std::string, double> parse_metrics(const std::string& metrics) {
  return checked([&] {
    std::map<std::string, double> values;
    json_fields::field(Json::parse(metrics), kMetricsKey, values);
    return values;
  });
}

namespace {

void append_run(trend::DeviceHistory& device, const Run& run) {
  device.runs.push_back(to_history_run(run.context));
  std::map<std::string_view, Size> versions;
  for (const trend::CaseOutcomes& one : device.outcomes) versions.emplace(one.case_name, one.version);
  std::map<std::string, const Observation*> timed;
  for (const Observation& one : run.observations) {
    if (one.outcome == Outcome::ok && one.gpu_time) timed[one.case_name] = &one;
  }
  for (trend::Series& series : device.series) {
    const bool is_time = series.metric == trend::metric::gpu_time_ns;
    const auto found = timed.find(series.case_name);
    if (!is_time || found == timed.end()) {
      series.values.emplace_back();
    } else {
      const auto version = versions.find(series.case_name);
      const bool is_other_version = version != versions.end() && version->second != found->second->version;
      const bool is_other_method = !series.method.empty() && series.method != time_method(*found->second);
      if (is_other_version || is_other_method) {
        std::ranges::fill(series.values, std::nullopt);
        series.confirmations.clear();
      }
      series.values.push_back(median_of_block_medians(found->second->gpu_time));
    }
    if (!series.confirmations.empty()) series.confirmations.emplace_back();
  }
  device.outcomes.clear();  // not needed, and shorter than the series by one run
}

}  // namespace

std::vector<std::string> suspicious_cases(trend::DeviceHistory device, const Run& run) {
  append_run(device, run);
  return trend::find_trends(device).to_measure_again;
}

}  // namespace peakmark::history
