#include "measure/runfile/context_json.hpp"

#include <utility>

#include "base/error.hpp"
#include "base/private_text.hpp"
#include "measure/runfile/json_fields.hpp"

namespace peakmark {

using namespace json_fields;

// Field lists of the structures in a run's context. `planned` is written and read separately, because it may
// have millions of elements.

template <EitherConst<Clocks> T, typename Fields>
void for_each_field(T& clocks, Fields& fields) {
  fields("sm_mhz", clocks.sm_mhz);
  fields("max_sm_mhz", clocks.max_sm_mhz);
  fields("memory_mhz", clocks.memory_mhz);
  fields("max_memory_mhz", clocks.max_memory_mhz);
  fields("memory_bus_bits", clocks.memory_bus_bits);
}

template <EitherConst<Shard> T, typename Fields>
void for_each_field(T& shard, Fields& fields) {
  fields("index", shard.index);
  fields("count", shard.count);
  fields.written_if("places", shard.places, shard.places.has_value());
  fields.written_if("other_cases", shard.other_cases, !shard.other_cases.empty());
}

template <EitherConst<Rounds> T, typename Fields>
void for_each_field(T& rounds, Fields& fields) {
  fields("job", rounds.job);
  fields("rounds", rounds.rounds);
  fields("seed", rounds.seed);
  fields("variants", rounds.variants);
  fields("two_passes", rounds.two_passes);
  fields("confirmation_pass", rounds.confirmation_pass);
}

template <EitherConst<MetricLimit> T, typename Fields>
void for_each_field(T& limit, Fields& fields) {
  fields("name", limit.name);
  fields("min", limit.min);
  fields("max", limit.max);
}

template <EitherConst<Limits> T, typename Fields>
void for_each_field(T& limits, Fields& fields) {
  fields("peak_bytes", limits.peak_bytes);
  fields("peak_over_floor", limits.peak_over_floor);
  fields("time_ns", limits.time_ns);
  fields.written_if("allow_growth", limits.growth, limits.growth.has_value());
  fields.written_if("allow_shrinking", limits.shrinking, limits.shrinking.has_value());
  fields.written_if("metrics", limits.metrics, !limits.metrics.empty());
}

template <EitherConst<PlannedCase> T, typename Fields>
void for_each_field(T& planned, Fields& fields) {
  fields("case", planned.name);
  fields("variant", planned.sweep_case.variant);
  fields("backend", planned.sweep_case.backend);
  fields("axes", planned.sweep_case.parameters);
  fields("window", planned.window);
  fields("expected_outcome", planned.expected_outcome);
  fields("judged_estimators", planned.judged_estimators);
  fields.written_if("version", planned.version, planned.version != 1);
  fields.null_if_empty("figure", planned.figure);
  fields.written_if("limits", planned.limits, planned.limits != Limits());
}

template <EitherConst<RunContext> T, typename Fields>
void for_each_field(T& context, Fields& fields) {
  fields("id", context.id);
  fields("date", context.date);
  fields("host_name", context.host_name);
  fields("complete", context.complete);
  fields.written_if("partial", context.partial, !context.partial.empty());
  fields.written_if("lost_cases", context.lost_cases, !context.lost_cases.empty());
  fields("suite", context.suite);
  fields("fingerprint", context.fingerprint);
  fields("suite_files", context.suite_files);
  fields("filter", context.filter);
  fields("asked_backend", context.asked_backend);
  fields("asked_cache", context.asked_cache);
  fields("shard", context.shard);
  fields("commit", context.commit);
  fields("build", context.build);
  fields("worker", context.worker);
  fields("backend", context.backend);
  fields("device", context.device);
  fields.written_if("device_class", context.device_class, !context.device_class.empty());
  fields("driver", context.driver);
  fields("platform", context.platform);
  fields("device_is_cpu", context.device_is_cpu);
  fields("device_memory_bytes", context.device_memory_bytes);
  fields("largest_allocation_bytes", context.largest_allocation_bytes);
  fields("clocks", context.clocks);
  fields("memory_only", context.memory_only);
  fields("budget_bytes", context.budget_bytes);
  fields.written_if("max_allocation_bytes", context.max_allocation_bytes,
                    context.max_allocation_bytes.has_value());
  fields("environment", context.environment);
  fields("warnings", context.warnings);
  fields("reference", context.reference);
  fields("rounds", context.rounds);
}

// Conversions that the field lists cannot express. json_fields.hpp finds them by their types.

Json to_json(const Window& window) {
  return Json{window.lo, window.hi};
}

void read(const Json& json, Window& window) {
  std::vector<double> bounds;
  json_fields::read(json, bounds);
  if (bounds.size() != 2) wrong_type(json, "two numbers");
  window = {bounds[0], bounds[1]};
}

Json to_json(const GrowthAllowance& allowance) {
  return allowance.text;
}

void read(const Json& json, GrowthAllowance& allowance) {
  std::string text;
  json_fields::read(json, text);
  allowance = parse_growth_allowance(text);
}

void read(const Json& json, Rounds& rounds) {
  read_fields(json, rounds);
  if (rounds.rounds < 1 || rounds.rounds > kMaxRounds) wrong_type(json.at("rounds"), "from 1 to 1000");
}

namespace {

void check_version(const Json& json) {
  int version = 0;
  field(json, "version", version);
  if (version != format::kRunFile.major) {
    throw UsageError(
        "it has version " + std::to_string(version) + " of the run format, this peakmark reads version " +
        std::to_string(format::kRunFile.major) + "; measure again, or use the peakmark that wrote it");
  }
}

}  // namespace

Json to_json(const PlannedCase& planned) {
  return fields_json(planned);
}

PlannedCase planned_case_from_json(const Json& json) {
  PlannedCase planned;
  read_fields(json, planned);
  return planned;
}

std::string line_start(int indent, int depth) {
  return indent < 0 ? std::string() : "\n" + std::string(static_cast<std::size_t>(indent * depth), ' ');
}

std::string nested_text(const Json& json, int indent, int depth) {
  std::string text = json.dump(indent, ' ', false, Json::error_handler_t::replace);
  if (indent < 0) return text;
  const std::string start = line_start(indent, depth);
  std::string nested;
  for (const char letter : text) {
    if (letter == '\n') {
      nested += start;
    } else {
      nested += letter;
    }
  }
  return nested;
}

void write_with_planned(std::string_view text, const std::vector<PlannedCase>& planned, int indent, int depth,
                        const TextSink& sink) {
  if (planned.empty()) return sink(text);
  const std::size_t list_end = text.rfind("[]") + 1;
  sink(text.substr(0, list_end));
  bool is_first = true;
  for (const PlannedCase& one : planned) {
    if (!std::exchange(is_first, false)) sink(",");
    sink(line_start(indent, depth + 1));
    sink(nested_text(to_json(one), indent, depth + 1));
  }
  sink(line_start(indent, depth));
  sink(text.substr(list_end));
}

Json to_json(const RunContext& context) {
  Json json = begin(format::kRunFile);
  json.update(fields_json(context));
  return json;
}

RunContext run_context_from_json(const Json& json) {
  check_version(json);
  RunContext context;
  read_fields(json, context);
  // A user may have edited the file.
  std::erase_if(context.environment,
                [](const auto& fact) { return !is_public_fact(fact.first, fact.second); });
  field(json, "planned", context.planned);
  return context;
}

std::string list_json(const Suite& suite, const std::vector<PlannedCase>& cases) {
  Json json = json_fields::begin(format::kCases);
  json.update(Json{{"suite", suite.name}, {"fingerprint", suite.fingerprint}, {"cases", Json::array()}});
  std::string text;
  write_with_planned(json_fields::pretty(json, 1), cases, 1, 1,
                     [&text](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace peakmark
