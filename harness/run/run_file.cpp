#include "run/run_file.hpp"

#include "run/json_fields.hpp"
// json_fields.hpp before these: it sets how nlohmann is compiled.
#include <algorithm>
#include <fstream>
#include <numeric>
#include <thread>

#include "base/error.hpp"
#include "base/file_kind.hpp"
#include "run/context_json.hpp"
#include "run/observation_json.hpp"
#include "run/text_file.hpp"
#include "run/throughput.hpp"

namespace peakmark {

using namespace json_fields;

namespace {

// compare.py matches rows by name and trips over one without a time, so this row has a name of its own, made
// as Google Benchmark makes those of its aggregates.
constexpr const char* kAggregateName = "peakmark";

Json row_of(const std::string& name, std::size_t family, const std::string& case_name) {
  return Json{
      {"name", name}, {"family_index", family}, {"per_family_instance_index", 0}, {"run_name", case_name}};
}

/// One row a block. compare.py asks for a CPU time too: a device has none, so both say the device's time.
void add_repetitions(Json& rows, const Observation& observation, std::size_t family) {
  if (!observation.gpu_time) return;
  const auto& blocks = observation.gpu_time->blocks;
  for (std::size_t index = 0; index < blocks.size(); ++index) {
    const std::vector<double>& calls = blocks[index];
    if (calls.empty()) continue;
    const double mean = std::accumulate(calls.begin(), calls.end(), 0.0) / static_cast<double>(calls.size());
    Json row = row_of(observation.case_name, family, observation.case_name);
    row["run_type"] = "iteration";
    row["repetitions"] = blocks.size();
    row["repetition_index"] = index;
    row["threads"] = 1;
    row["iterations"] = calls.size();
    row["real_time"] = mean;
    row["cpu_time"] = mean;
    row["time_unit"] = "ns";
    rows.push_back(row);
  }
}

Json aggregate_row(const Observation& observation, const RunContext& context, std::size_t family) {
  const std::size_t blocks = observation.gpu_time ? observation.gpu_time->blocks.size() : 0;
  Json row = row_of(observation.case_name + "_" + kAggregateName, family, observation.case_name);
  row["run_type"] = "aggregate";
  row["repetitions"] = blocks;
  row["threads"] = 1;
  row["aggregate_name"] = kAggregateName;
  row["peakmark"] = to_json(observation);
  row["peakmark"]["throughput"] = to_json(throughput_of(observation, context));
  return row;
}

bool is_run(const Json& json) {
  return json.is_object() && json.contains("context") && json.at("context").is_object() &&
         json.at("context").contains("peakmark");
}

bool is_run_file(const std::string& text) {
  try {
    return is_run(Json::parse(text));
  } catch (const Json::parse_error& error) {
    const bool cut_short = error.byte > text.size();
    return cut_short && text.find("\"peakmark\": {") != std::string::npos;
  }
}

/// The first sign that is no space; 0 where there is none.
char first_sign_of(const std::filesystem::path& path) {
  char sign = 0;
  return std::ifstream(path) >> sign ? sign : '\0';
}

bool is_a_partial_run_there(const std::filesystem::path& run_file) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(partial_of(run_file), error);
  return !error && bytes > 0;
}

/// What to do where a run file is no good and its run stands beside it; else `otherwise`.
std::string advice_for(const std::filesystem::path& run_file, const std::string& otherwise) {
  if (!is_a_partial_run_there(run_file)) return otherwise;
  return "; the run stands in " + partial_of(run_file).string() +
         ", unfinished: `peakmark run` with --resume finishes it";
}

Run run_from_json(const Json& json) {
  if (!is_run(json)) {
    throw UsageError("it is JSON, but no run of peakmark: context.peakmark is missing");
  }
  Run run;
  run.context = run_context_from_json(json.at("context").at("peakmark"));
  for (const Json& row : json.at("benchmarks")) {
    if (row.contains("peakmark")) run.observations.push_back(observation_from_json(row.at("peakmark")));
  }
  return run;
}

/// `line 3, column 7` of a byte offset.
std::string place_of(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const auto line = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
  const auto start = before.rfind('\n');
  const std::size_t column = start == std::string_view::npos ? before.size() : before.size() - start - 1;
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

}  // namespace

std::filesystem::path partial_of(const std::filesystem::path& run_file) {
  return run_file.string() + ".partial";
}

std::string later_run_warning(const std::filesystem::path& run_file) {
  if (!is_a_partial_run_there(run_file)) return "";
  std::error_code error;
  const auto partial_time = std::filesystem::last_write_time(partial_of(run_file), error);
  if (error) return "";
  const auto time = std::filesystem::last_write_time(run_file, error);
  if (error || partial_time < time) return "";
  return run_file.string() + " is of an earlier run: a later one stands in " + partial_of(run_file).string() +
         ", unfinished; `peakmark run` with --resume finishes it";
}

void check_run_file_replaceable(const std::filesystem::path& path) {
  check_replaceable(path);
  // The first sign tells most files apart, however large they are.
  const char first = std::filesystem::exists(path) ? first_sign_of(path) : '\0';
  if (first == '\0' || (first == '{' && is_run_file(read_text_file(path)))) return;
  throw UsageError(
      path.string() +
      ": is no run file of peakmark, and is not replaced; name another file with -o, or remove it");
}

Run read_run(const std::filesystem::path& path) {
  std::error_code none;
  if (!std::filesystem::exists(path, none) && is_a_partial_run_there(path)) {
    throw UsageError(path.string() + ": cannot open: it is not there" + advice_for(path, ""));
  }
  const std::string text = read_text_file(path);
  const auto fail = [&path](const std::string& why) { throw UsageError(path.string() + ": " + why); };
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) fail("it is empty");
  try {
    return run_from_json(Json::parse(text));
  } catch (const Json::parse_error& error) {
    if (error.byte > text.size()) {
      fail("cut short: it ends at " + place_of(text, text.size()) + " in the middle" +
           advice_for(path, "; copy it again, or measure again without --resume"));
    }
    fail("not JSON: " + place_of(text, error.byte) + ": " + message_of(error));
  } catch (const Json::exception& error) {
    fail("not as a run file must be: " + message_of(error));
  } catch (const UsageError& error) {
    fail(error.what());
  }
  throw UsageError(path.string());
}

std::string run_file_text(const Run& run, int indent) {
  Json json;
  json["context"] = Json{{"date", run.context.date},
                         {"host_name", run.context.host_name},
                         {"executable", run.context.worker},
                         {"num_cpus", std::thread::hardware_concurrency()},
                         {"library_build_type", run.context.build},
                         {"peakmark", to_json(run.context)}};
  Json rows = Json::array();
  for (std::size_t index = 0; index < run.observations.size(); ++index) {
    add_repetitions(rows, run.observations[index], index);
    rows.push_back(aggregate_row(run.observations[index], run.context, index));
  }
  json["benchmarks"] = std::move(rows);
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

void write_run(const Run& run, const std::filesystem::path& path) {
  check_run_file_replaceable(path);
  replace_text_file(path, run_file_text(run, 1) + "\n");
}

}  // namespace peakmark
