#include "measure/runfile/run_file.hpp"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <functional>
#include <istream>
#include <numeric>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text_file.hpp"
#include "measure/runfile/context_json.hpp"
#include "measure/runfile/json_fields.hpp"
#include "measure/runfile/observation_json.hpp"
#include "measure/runfile/throughput.hpp"

namespace peakmark {

using namespace json_fields;

namespace {

// compare.py matches rows by name and fails on one without a time. So this row has a different name, in the
// form that Google Benchmark uses for aggregates.
constexpr const char* kAggregateName = "peakmark";

Json row_of(const std::string& name, std::size_t family, const std::string& case_name) {
  return Json{
      {"name", name}, {"family_index", family}, {"per_family_instance_index", 0}, {"run_name", case_name}};
}

/// Adds one row per block. compare.py also needs a CPU time; it is set to the device's time.
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

/// Returns the JSON of a run file without the elements of `benchmarks` and of `context.peakmark.planned`,
/// which are passed to `on_row` and `on_planned`.
Json parse_run_file(FileBuffer& file, const std::function<void(const Json& row)>& on_row,
                    const std::function<void(const Json& planned)>& on_planned) {
  const std::array<LongList, 2> lists{
      {{{"benchmarks"}, on_row}, {{"context", "peakmark", "planned"}, on_planned}}};
  std::istream text(&file);
  return parse_with_long_lists(text, lists);
}

/// Returns true for a run file, complete or truncated. Keeps nothing of it in memory.
bool is_run_file(const std::filesystem::path& path) {
  FileBuffer file(path);
  std::istream text(&file);
  bool in_context = false;
  bool has_run = false;
  const auto look = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (event != Json::parse_event_t::key) return false;
    if (depth == 1) in_context = parsed == "context";
    has_run = has_run || (depth == 2 && in_context && parsed == "peakmark");
    return false;
  };
  try {
    [[maybe_unused]] const Json nothing = Json::parse(text, look);
  } catch (const Json::parse_error& error) {
    return has_run && error.byte > file.bytes();
  }
  return has_run;
}

/// Returns the first character that is not a space; 0 if there is none.
char first_character(const std::filesystem::path& path) {
  char first = 0;
  return std::ifstream(path) >> first ? first : '\0';
}

bool has_partial_run(const std::filesystem::path& run_file) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(partial_of(run_file), error);
  return !error && bytes > 0;
}

/// Returns how to recover an unreadable run file from its partial run, if there is one; else `otherwise`.
std::string advice_for(const std::filesystem::path& run_file, const std::string& otherwise) {
  if (!has_partial_run(run_file)) return otherwise;
  return "; the unfinished run is in " + partial_of(run_file).string() +
         ": finish it with `peakmark run --resume`";
}

Run run_from_file(FileBuffer& file) {
  Run run;
  std::size_t rows = 0;
  std::optional<std::string> mistake;  // the first one; the version is checked before
  std::vector<PlannedCase> planned;
  const auto note = [&](std::string_view list, std::size_t index, const auto& read) {
    if (mistake) return;
    try {
      read();
    } catch (const Json::exception& error) {
      mistake = fmt::format("not a valid run file: {}/{}: {}", list, index, message_of(error));
    } catch (const UsageError& error) {
      mistake = error.what();
    }
  };
  const auto on_row = [&](const Json& row) {
    const std::size_t index = rows++;
    if (!row.contains("peakmark")) return;
    note("/benchmarks", index, [&] {
      const std::size_t place = run.observations.size();
      if (place == 0) run.observations.reserve(planned.size());
      Observation& observation = run.observations.emplace_back(observation_from_json(row.at("peakmark")));
      if (place < planned.size()) observation.axes.share(planned[place].sweep_case.parameters);
    });
  };
  const auto on_planned = [&](const Json& one) {
    note("/context/peakmark/planned", planned.size(),
         [&] { planned.push_back(planned_case_from_json(one)); });
  };
  const Json json = parse_run_file(file, on_row, on_planned);
  if (!is_run(json)) {
    throw UsageError("it is JSON, but not a run of peakmark: context.peakmark is missing");
  }
  run.context = run_context_from_json(json.at("context").at("peakmark"));
  if (!json.at("benchmarks").is_array()) wrong_type(json.at("benchmarks"), "a list");
  if (mistake) throw UsageError(*mistake);
  // Remaining elements of the JSON list are not objects, and have been refused.
  run.context.planned = std::move(planned);
  return run;
}

}  // namespace

std::filesystem::path partial_of(const std::filesystem::path& run_file) {
  return run_file.string() + ".partial";
}

std::string later_run_warning(const std::filesystem::path& run_file) {
  if (!has_partial_run(run_file)) return "";
  std::error_code error;
  const auto partial_time = std::filesystem::last_write_time(partial_of(run_file), error);
  if (error) return "";
  const auto time = std::filesystem::last_write_time(run_file, error);
  if (error || partial_time < time) return "";
  return run_file.string() + " is of an earlier run: a later, unfinished one is in " +
         partial_of(run_file).string() + "; finish it with `peakmark run --resume`";
}

void check_run_file_replaceable(const std::filesystem::path& path) {
  check_replaceable(path);
  // The first character is sufficient for most files, even large ones.
  const char first = std::filesystem::exists(path) ? first_character(path) : '\0';
  if (first == '\0' || (first == '{' && is_run_file(path))) return;
  throw UsageError(
      path.string() +
      ": is not a run file of peakmark, so it is not replaced; choose another file with -o, or remove it");
}

namespace {

std::filesystem::path target_of(const std::filesystem::path& path) {
  std::error_code none;
  if (!std::filesystem::is_symlink(path, none)) return path;
  return path.parent_path() /
         std::filesystem::read_symlink(path, none);  // an absolute path replaces the folder
}

}  // namespace

std::filesystem::path previous_of(const std::filesystem::path& run_file) {
  return target_of(run_file).string() + ".previous";
}

bool set_run_file_aside(const std::filesystem::path& path) {
  check_run_file_replaceable(path);
  std::error_code error;
  if (!std::filesystem::exists(path, error) || std::filesystem::file_size(path, error) == 0) return false;
  check_run_file_replaceable(previous_of(path));
  std::filesystem::rename(target_of(path), previous_of(path), error);
  if (!error) return true;
  throw io_error(path, "cannot be replaced", error.value(), "choose another file with -o");
}

void remove_run_set_aside(const std::filesystem::path& path) {
  std::error_code none;
  std::filesystem::remove(previous_of(path), none);
}

void take_back_run_set_aside(const std::filesystem::path& path) {
  std::error_code none;
  if (!std::filesystem::exists(path, none)) std::filesystem::rename(previous_of(path), target_of(path), none);
}

Run read_run(const std::filesystem::path& path) {
  std::error_code none;
  if (!std::filesystem::exists(path, none) && has_partial_run(path)) {
    throw UsageError(path.string() + ": cannot open: no such file" + advice_for(path, ""));
  }
  if (!std::filesystem::exists(path, none) && std::filesystem::exists(previous_of(path), none)) {
    throw UsageError(
        path.string() +
        ": cannot open: no such file: the last command that wrote it failed; the run before is in " +
        previous_of(path).string());
  }
  FileBuffer file(path);
  const auto fail = [&path](const std::string& why) { throw UsageError(path.string() + ": " + why); };
  try {
    return run_from_file(file);
  } catch (const Json::parse_error& error) {
    if (error.byte > file.bytes()) {
      if (file.is_blank()) fail("it is empty");
      fail("cut short: it ends at " + file.place_of(file.bytes()) + " in the middle" +
           advice_for(path, "; copy it again, or measure again without --resume"));
    }
    fail("not JSON: " + file.place_of(error.byte) + ": " + message_of(error));
  } catch (const Json::exception& error) {
    fail("not a valid run file: " + message_of(error));
  } catch (const UsageError& error) {
    fail(error.what());
  }
  throw UsageError(path.string());
}

std::string run_file_text(const Run& run, int indent) {
  std::string text;
  write_run_text(run, indent, [&text](std::string_view piece) { text += piece; });
  return text;
}

void write_run_text(const Run& run, int indent, const TextSink& sink) {
  Json peakmark = to_json(run.context);
  peakmark["planned"] = Json::array();
  const Json context{{"date", run.context.date},
                     {"host_name", run.context.host_name},
                     {"executable", run.context.worker},
                     {"num_cpus", std::thread::hardware_concurrency()},
                     {"library_build_type", run.context.build},
                     {"peakmark", std::move(peakmark)}};
  const auto line_of = [indent](int depth) { return line_start(indent, depth); };
  const std::string colon = indent < 0 ? ":" : ": ";
  write_with_planned("{" + line_of(1) + "\"context\"" + colon + nested_text(context, indent, 1),
                     run.context.planned, indent, 3, sink);
  sink("," + line_of(1) + "\"benchmarks\"" + colon + "[");
  // Row by row, because all rows of 100,000 cases as one value would take gigabytes.
  bool is_first = true;
  for (std::size_t index = 0; index < run.observations.size(); ++index) {
    Json rows = Json::array();
    add_repetitions(rows, run.observations[index], index);
    rows.push_back(aggregate_row(run.observations[index], run.context, index));
    for (const Json& row : rows) {
      if (!std::exchange(is_first, false)) sink(",");
      sink(line_of(2));
      sink(nested_text(row, indent, 2));
    }
  }
  if (!is_first) sink(line_of(1));
  sink("]" + line_of(0) + "}");
}

void write_run(const Run& run, const std::filesystem::path& path) {
  check_run_file_replaceable(path);
  replace_text_file(path, [&run](const TextSink& sink) {
    write_run_text(run, 1, sink);
    sink("\n");
  });
}

}  // namespace peakmark
