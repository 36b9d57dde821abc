#include "runfile/import_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "base/fingerprint.hpp"
#include "base/text_file.hpp"
#include "runfile/import_sources.hpp"

namespace peakmark {

namespace import_sources {

Run begin_run(const Source& source, const std::string& id_part) {
  Fingerprint id;
  id.add(source.fingerprint);
  id.add(id_part);
  Run run;
  run.context.id = "import-" + id.text();
  run.context.commit = source.options.commit;
  run.context.complete = true;
  return run;
}

void add_case(Run& run, Observation observation) {
  const std::string& name = observation.case_name;
  if (name.empty()) throw UsageError("a benchmark has no name");
  if (std::ranges::find(run.observations, name, &Observation::case_name) != run.observations.end()) {
    throw UsageError(fmt::format("two benchmarks are named '{}'; remove one from the file", name));
  }
  observation.backend = run.context.backend;
  PlannedCase planned;
  planned.name = name;
  planned.sweep_case = {observation.variant, observation.backend, observation.axes};
  run.context.planned.push_back(std::move(planned));
  run.observations.push_back(std::move(observation));
}

void end_run(Run& run) {
  if (run.observations.empty()) throw UsageError("no benchmark in it");
  Fingerprint cases;
  for (const PlannedCase& planned : run.context.planned) cases.add(planned.name);
  run.context.fingerprint = cases.text();
}

Size checked_bytes(double bytes, std::string_view what, const std::string& case_name) {
  constexpr double kMaxBytes = static_cast<double>(Size{1} << std::numeric_limits<double>::digits);
  if (bytes >= 0 && bytes <= kMaxBytes && bytes == std::floor(bytes)) return static_cast<Size>(bytes);
  throw UsageError(fmt::format("{} of {} is {}; must be whole bytes, 0 to 2^53", what, case_name, bytes));
}

std::string program_name_of(const Json& value) {
  if (!value.is_string()) return "";
  const auto& path = value.get_ref<const std::string&>();
  return path.substr(path.find_last_of("/\\") + 1);
}

}  // namespace import_sources

namespace {

using import_sources::Source;
using json_fields::Json;

/// Replaces NaN and Infinity, which Google Benchmark writes for counters, by null. JSON has neither.
std::string without_nan(const std::string& text) {
  std::string result;
  result.reserve(text.size());
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::string_view rest = std::string_view(text).substr(at);
    const auto skip = [&](std::string_view word) {
      if (!rest.starts_with(word)) return false;
      result += "null";
      at += word.size() - 1;
      return true;
    };
    if (!in_string && (skip("NaN") || skip("-NaN") || skip("Infinity") || skip("-Infinity"))) continue;
    if (in_string && text[at] == '\\' && at + 1 < text.size()) result += text[at++];
    if (text[at] == '"') in_string = !in_string;
    result += text[at];
  }
  return result;
}

bool is_list(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_array();
}

ImportedResults read_source(Source source) {
  const Json& json = source.json;
  const bool has_context = json.is_object() && json.contains("context") && json.at("context").is_object();
  if (has_context && json.at("context").contains("peakmark")) {
    throw UsageError("it is a run file of peakmark; add it with `peakmark history add`");
  }
  if (json.is_object() && is_list(json, "benchmarks")) {
    if (json.contains("devices")) return import_sources::read_nvbench(source);
    if (has_context) return import_sources::read_google_benchmark(std::move(source));
  }
  throw UsageError(
      "it is JSON, but not of Google Benchmark (`context` and `benchmarks`, --benchmark_format=json) or "
      "nvbench "
      "(`devices` and `benchmarks`, --json)");
}

}  // namespace

ImportedResults import_results(const std::filesystem::path& path, const ImportOptions& options,
                               const PrivateTexts& texts) {
  const std::string original = read_text_file(path);
  const auto fail = [&path](const std::string& why) {
    throw UsageError(fmt::format("{}: {}", path.string(), why));
  };
  if (original.find_first_not_of(" \t\r\n") == std::string::npos) fail("it is empty");
  Fingerprint fingerprint;
  fingerprint.add(original);
  const std::string text = without_nan(original);
  try {
    const Json json = Json::parse(text);
    return read_source({json, fingerprint.text(), options, texts});
  } catch (const Json::parse_error& error) {
    if (error.byte > text.size()) fail("cut short: it ends in the middle; copy it again");
    fail("not JSON: " + json_fields::message_of(error));
  } catch (const Json::exception& error) {
    fail("malformed: " + json_fields::message_of(error));
  } catch (const UsageError& error) {
    fail(error.what());
  }
  throw UsageError(path.string());
}

}  // namespace peakmark
