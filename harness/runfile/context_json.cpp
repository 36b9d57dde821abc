#include "runfile/context_json.hpp"

#include <utility>

#include "base/error.hpp"
#include "base/private_text.hpp"
#include "runfile/json_fields.hpp"

namespace peakmark {

using namespace json_fields;

namespace {

Json to_json(const Clocks& clocks) {
  return Json{{"sm_mhz", or_null(clocks.sm_mhz)},
              {"most_sm_mhz", or_null(clocks.most_sm_mhz)},
              {"memory_mhz", or_null(clocks.memory_mhz)},
              {"most_memory_mhz", or_null(clocks.most_memory_mhz)},
              {"memory_bus_bits", or_null(clocks.memory_bus_bits)}};
}

void read(const Json& json, Clocks& clocks) {
  field(json, "sm_mhz", clocks.sm_mhz);
  field(json, "most_sm_mhz", clocks.most_sm_mhz);
  field(json, "memory_mhz", clocks.memory_mhz);
  field(json, "most_memory_mhz", clocks.most_memory_mhz);
  if (json.contains("memory_bus_bits")) {  // younger than the format
    field(json, "memory_bus_bits", clocks.memory_bus_bits);
  }
}

Json to_json(const Rounds& rounds) {
  Json variants(nullptr);
  if (rounds.variants) variants = {rounds.variants->first, rounds.variants->second};
  return Json{{"job", rounds.job},
              {"rounds", rounds.rounds},
              {"seed", rounds.seed},
              {"variants", variants},
              {"two_looks", rounds.two_passes},
              {"second_look", or_null(rounds.confirmation_pass)}};
}

Rounds rounds_from_json(const Json& json) {
  Rounds rounds;
  field(json, "job", rounds.job);
  field(json, "rounds", rounds.rounds);
  if (rounds.rounds < 1 || rounds.rounds > kMaxRounds) wrong_type(json.at("rounds"), "from 1 to 1000");
  if (!json.at("seed").is_number_unsigned())
    wrong_type(json.at("seed"), "an integer of 64 bits, not below 0");
  rounds.seed = json.at("seed").get<std::uint64_t>();
  if (const Json& variants = json.at("variants"); !variants.is_null()) {
    std::vector<std::string> names;
    json_fields::read(variants, names);
    if (names.size() != 2) wrong_type(variants, "two names");
    rounds.variants.emplace(names[0], names[1]);
  }
  field(json, "two_looks", rounds.two_passes);
  field(json, "second_look", rounds.confirmation_pass);
  return rounds;
}

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
  return Json{{"case", planned.name},
              {"variant", planned.sweep_case.variant},
              {"backend", planned.sweep_case.backend},
              {"axes", json_fields::to_json(planned.sweep_case.parameters)},
              {"window", {planned.window.lo, planned.window.hi}},
              {"expected_outcome", planned.expected_outcome},
              {"judged_estimators", planned.judged_estimators},
              {"figure", planned.figure.empty() ? Json(nullptr) : Json(planned.figure)}};
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

Json to_json_without_planned(const RunContext& context) {
  Json shard(nullptr);
  if (context.shard) shard = Json{{"index", context.shard->index}, {"count", context.shard->count}};
  return Json{{"version", format::kRunFile.major},
              {"minor", format::kRunFile.minor},
              {"id", context.id},
              {"date", context.date},
              {"host_name", context.host_name},
              {"complete", context.complete},
              {"suite", context.suite},
              {"fingerprint", context.fingerprint},
              {"filter", or_null(context.filter)},
              {"asked_backend", or_null(context.asked_backend)},
              {"asked_cache", or_null(context.asked_cache)},
              {"shard", shard},
              {"commit", context.commit},
              {"build", context.build},
              {"worker", context.worker},
              {"backend", context.backend},
              {"device", context.device},
              {"driver", context.driver},
              {"platform", context.platform},
              {"device_is_cpu", context.device_is_cpu},
              {"device_memory_bytes", or_null(context.device_memory_bytes)},
              {"largest_allocation_bytes", or_null(context.largest_allocation_bytes)},
              {"clocks", to_json(context.clocks)},
              {"memory_only", context.memory_only},
              {"environment", Json(context.environment)},
              {"warnings", context.warnings},
              {"reference", Json{{"first_ns", or_null(context.reference.first_ns)},
                                 {"last_ns", or_null(context.reference.last_ns)},
                                 {"copy_bytes", or_null(context.reference.copy_bytes)},
                                 {"copy_ns", context.reference.copy_ns},
                                 {"arithmetic_ns", context.reference.arithmetic_ns}}},
              {"rounds", context.rounds ? to_json(*context.rounds) : Json(nullptr)},
              {"planned", Json::array()}};
}

PlannedCase planned_case_from_json(const Json& json) {
  PlannedCase planned;
  field(json, "case", planned.name);
  field(json, "variant", planned.sweep_case.variant);
  field(json, "backend", planned.sweep_case.backend);
  field(json, "axes", planned.sweep_case.parameters);
  std::vector<double> window;
  field(json, "window", window);
  if (window.size() != 2) wrong_type(json.at("window"), "two numbers");
  planned.window = {window[0], window[1]};
  field(json, "expected_outcome", planned.expected_outcome);
  field(json, "judged_estimators", planned.judged_estimators);
  if (const Json& figure = json.at("figure"); !figure.is_null()) planned.figure = figure.get<std::string>();
  return planned;
}

RunContext run_context_from_json(const Json& json) {
  check_version(json);
  RunContext context;
  field(json, "id", context.id);
  field(json, "date", context.date);
  field(json, "host_name", context.host_name);
  field(json, "complete", context.complete);
  field(json, "suite", context.suite);
  field(json, "fingerprint", context.fingerprint);
  if (json.contains("filter")) field(json, "filter", context.filter);  // younger than the format
  if (json.contains("asked_backend")) field(json, "asked_backend", context.asked_backend);  // so is this
  if (json.contains("asked_cache")) field(json, "asked_cache", context.asked_cache);        // and this
  if (const Json& shard = json.at("shard"); !shard.is_null()) {
    context.shard.emplace();
    field(shard, "index", context.shard->index);
    field(shard, "count", context.shard->count);
  }
  field(json, "commit", context.commit);
  field(json, "build", context.build);
  field(json, "worker", context.worker);
  field(json, "backend", context.backend);
  field(json, "device", context.device);
  field(json, "driver", context.driver);
  field(json, "platform", context.platform);
  field(json, "device_is_cpu", context.device_is_cpu);
  field(json, "device_memory_bytes", context.device_memory_bytes);
  if (json.contains("largest_allocation_bytes")) {  // younger than the format
    field(json, "largest_allocation_bytes", context.largest_allocation_bytes);
    read(json.at("clocks"), context.clocks);
  }
  field(json, "memory_only", context.memory_only);
  field(json, "environment", context.environment);
  // Run files and histories of earlier versions hold every CUDA_ and NVIDIA_ variable.
  std::erase_if(context.environment,
                [](const auto& fact) { return !is_public_fact(fact.first, fact.second); });
  field(json, "warnings", context.warnings);
  field(json.at("reference"), "first_ns", context.reference.first_ns);
  field(json.at("reference"), "last_ns", context.reference.last_ns);
  if (json.at("reference").contains("copy_ns")) {  // younger than the format
    field(json.at("reference"), "copy_ns", context.reference.copy_ns);
    field(json.at("reference"), "arithmetic_ns", context.reference.arithmetic_ns);
  }
  if (json.at("reference").contains("copy_bytes")) {  // younger than the format
    field(json.at("reference"), "copy_bytes", context.reference.copy_bytes);
  }
  if (json.contains("rounds") && !json.at("rounds").is_null()) {  // younger than the format
    context.rounds = rounds_from_json(json.at("rounds"));
  }
  if (!json.at("planned").is_array()) wrong_type(json.at("planned"), "a list");
  for (const Json& planned : json.at("planned")) context.planned.push_back(planned_case_from_json(planned));
  return context;
}

using json_fields::Json;

std::string list_json(const Suite& suite, const std::vector<PlannedCase>& cases) {
  Json json = json_fields::begin(format::kCases);
  json.update(Json{{"suite", suite.name}, {"fingerprint", suite.fingerprint}, {"cases", Json::array()}});
  std::string text;
  write_with_planned(json_fields::pretty(json, 1), cases, 1, 1,
                     [&text](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace peakmark
