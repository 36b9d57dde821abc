#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_file.hpp"
#include "runfile/observation.hpp"
#include "runfile/rounds.hpp"
#include "sweep/suite.hpp"

namespace peakmark {

/// A GPU's clocks when the run began, and the most that they can be. Null where nothing tells them.
struct Clocks {
  std::optional<Size> sm_mhz;
  std::optional<Size> most_sm_mhz;
  std::optional<Size> memory_mhz;
  std::optional<Size> most_memory_mhz;
  std::optional<Size> memory_bus_bits = std::nullopt;  ///< width of the memory bus
  friend bool operator==(const Clocks&, const Clocks&) = default;
};

/// What was true of the whole run.
/// Keys of a run's environment that tell of the moment in which it began, not of the machine.
namespace environment_key {
inline constexpr const char* load_average = "load average";
inline constexpr const char* memory_used = "memory used bytes";
inline constexpr const char* other_processes = "other processes";
inline constexpr std::array<std::string_view, 3> of_the_moment{load_average, memory_used, other_processes};
}  // namespace environment_key

struct RunContext {
  std::string id;    ///< unique to this run
  std::string date;  ///< ISO 8601, UTC
  std::string host_name;
  std::string suite;        ///< name
  std::string fingerprint;  ///< of the suite: of all its cases, whether they were planned or not
  std::optional<std::string>
      filter;  ///< `--filter`, which left cases of the suite out; null: none, or not told
  std::optional<std::string>
      asked_backend;  ///< `--backend`, instead of the suite's own backends; null: none, or not told
  /// `--cache`; null: none, or not told. What a case has is its own `cache`.
  std::optional<std::string> asked_cache;
  std::vector<PlannedCase> planned;  ///< every case that the run was to measure, after filter and shard
  std::optional<Shard> shard;
  std::string commit;  ///< of the sources; empty where unknown
  std::string build;   ///< build type and sanitizers of the worker
  std::string worker;
  std::string backend;  ///< of the device chosen
  std::string device;
  std::string driver;
  std::string platform;
  bool device_is_cpu = false;
  bool memory_only = false;
  std::optional<Size> device_memory_bytes;
  std::optional<Size>
      largest_allocation_bytes;  ///< what the device gives at once: OpenCL tells it, CUDA does not
  Clocks clocks;
  std::map<std::string, std::string> environment;  ///< POCL_MEMORY_LIMIT, the kernel, the CPU, …
  std::vector<std::string> warnings;               ///< what spoils timings or exactness
  ReferenceTimes reference;
  std::optional<Rounds> rounds;  ///< none where each case was timed once, in one process
  bool complete = false;         ///< every planned case has an observation
};

struct Run {
  RunContext context;
  std::vector<Observation> observations;
};

/// Throws UsageError that says what is wrong with the file (not there, not JSON and where, cut short, of
/// another version, no run of peakmark).
Run read_run(const std::filesystem::path& path);
/// Where a run stands until its run file is written: `RUN.partial`, beside it.
std::filesystem::path partial_of(const std::filesystem::path& run_file);
/// Says that a run into this file was begun after it was written and has not ended; empty where none was.
std::string later_run_warning(const std::filesystem::path& run_file);
/// UsageError where a run file must not be put: as check_replaceable() says, and where a file stands that is
/// not empty and no run file, whole or cut short.
void check_run_file_replaceable(const std::filesystem::path& path);
/// `RUN.previous`, beside the file that a link names.
std::filesystem::path previous_of(const std::filesystem::path& run_file);
/// Renames an earlier run file to previous_of(), so that a command that fails leaves no old run in the place
/// of its result, and deletes none. Returns false where there is none. UsageError as
/// check_run_file_replaceable().
bool set_run_file_aside(const std::filesystem::path& path);
/// Removes previous_of(), when the new run file is written.
void remove_run_set_aside(const std::filesystem::path& path);
/// Where there is no run file, renames previous_of() back: a command that failed has changed nothing of it.
void take_back_run_set_aside(const std::filesystem::path& path);
/// The text of a run file; `indent` −1: on one line.
std::string run_file_text(const Run& run, int indent);
/// Writes that text case by case: for 100,000 cases it has 400 MB.
void write_run_text(const Run& run, int indent, const TextSink& sink);
/// Writes beside the file and renames, so that a reader never sees half of it. IoError when the folder
/// is read-only or full; what was there before stays.
void write_run(const Run& run, const std::filesystem::path& path);

/// One observation as one line of JSON (no newline inside), and back.
std::string to_json_line(const Observation& observation);
Observation observation_from_json_line(std::string_view line);

}  // namespace peakmark
