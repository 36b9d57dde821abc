#include "measure/runfile/import_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/error.hpp"
#include "base/fingerprint.hpp"
#include "base/text.hpp"
#include "base/text_file.hpp"
#include "measure/runfile/import_sources.hpp"

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
  observation.backend = run.context.backend;
  PlannedCase planned;
  planned.name = name;
  planned.sweep_case = {observation.variant, observation.backend, observation.axes};
  run.context.planned.push_back(std::move(planned));
  run.observations.push_back(std::move(observation));
}

void add_counter(Observation& observation, std::string name, double value, std::string_view direction) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  for (char& letter : name) {
    if (kAllowed.find(letter) == std::string_view::npos) letter = '_';
  }
  if (!name.empty() && name.front() >= '0' && name.front() <= '9') name.insert(0, 1, '_');
  try {
    add_metric(observation, name, value, direction);
  } catch (const UsageError&) {
    // Results of other programs are imported as far as they fit.
  }
}

void refuse_equal_names(const std::string& name) {
  throw UsageError(fmt::format(
      "two benchmarks are named '{}'; rename one of them in the program, or import the results of "
      "each program and each run from a file of its own",
      name));
}

void end_run(Run& run) {
  if (run.observations.empty()) throw UsageError("no benchmark in it");
  Fingerprint cases;
  std::unordered_set<std::string_view> names;
  for (const PlannedCase& planned : run.context.planned) {
    if (!names.insert(planned.name).second) refuse_equal_names(planned.name);
    cases.add(planned.name);
  }
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

bool is_list(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_array();
}

/// Returns why a text is not JSON. Often it also contains other output of a program.
std::string not_json(const std::string& text, const std::string& error) {
  constexpr std::size_t kMaxShown = 60;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const std::string_view begin = std::string_view(text).substr(std::min(first, text.size()));
  if (begin.starts_with('{') || begin.starts_with('[') || begin.starts_with("\xEF\xBB\xBF"))
    return "not JSON: " + error;
  const std::string line(begin.substr(0, std::min(begin.find('\n'), begin.size())));
  return fmt::format(
      "not JSON: it begins with '{}'; write it with --benchmark_out=FILE --benchmark_out_format=json "
      "(nvbench: "
      "--json FILE)",
      cut_in_middle(line, kMaxShown));
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
  const import_sources::ImportText text = import_sources::json_text(original);
  try {
    const Json json = Json::parse(text.json);
    ImportedResults results = read_source({json, fingerprint.text(), options, texts});
    results.notes.insert(results.notes.begin(), text.notes.begin(), text.notes.end());
    return results;
  } catch (const Json::parse_error& error) {
    if (error.byte > text.json.size()) fail("cut short: it ends in the middle; copy it again");
    fail(not_json(text.json, json_fields::message_of(error)));
  } catch (const Json::exception& error) {
    fail("malformed: " + json_fields::message_of(error));
  } catch (const UsageError& error) {
    fail(error.what());
  }
  throw UsageError(path.string());
}

}  // namespace peakmark
