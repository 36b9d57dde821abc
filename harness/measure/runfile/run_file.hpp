#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_file.hpp"
#include "measure/runfile/observation.hpp"
#include "measure/runfile/rounds.hpp"
#include "measure/sweep/suite.hpp"

namespace peakmark {

/// The clocks of a GPU when the run started, and their maximum. Null if they are not reported.
struct Clocks {
  std::optional<Size> sm_mhz;
  std::optional<Size> max_sm_mhz;
  std::optional<Size> memory_mhz;
  std::optional<Size> max_memory_mhz;
  std::optional<Size> memory_bus_bits = std::nullopt;  ///< width of the memory bus
  friend bool operator==(const Clocks&, const Clocks&) = default;
};

/// Keys of a run's environment that describe the moment of its start, not the machine.
namespace environment_key {
inline constexpr const char* load_average = "load average";
inline constexpr const char* memory_used = "memory used bytes";
inline constexpr const char* other_processes = "other processes";
inline constexpr std::array<std::string_view, 3> of_the_moment{load_average, memory_used, other_processes};
}  // namespace environment_key

inline constexpr std::size_t kMaxLostCases = 100;

/// The facts of a whole run.
struct RunContext {
  std::string id;    ///< unique to this run
  std::string date;  ///< ISO 8601, UTC
  std::string host_name;
  std::string suite;        ///< name
  std::string fingerprint;  ///< of all cases of the suite, planned or not
  /// The files of the suite, relative to the root of its Git repository; outside a repository without their
  /// folders. Null: not measured from suites, or unknown.
  std::optional<std::vector<std::string>> suite_files = std::nullopt;
  /// The options `--filter`, `--backend` and `--cache`; null if not given or unknown. The cache state of a
  /// case is in its observation.
  std::optional<std::string> filter;
  std::optional<std::string> asked_backend;
  std::optional<std::string> asked_cache;
  std::vector<PlannedCase> planned;  ///< all cases of the run, after filter and shard
  std::optional<Shard> shard;
  std::string commit;  ///< of the sources; empty if unknown
  std::string build;   ///< build type and sanitizers of the worker
  std::string worker;
  std::string backend;  ///< of the device
  std::string device;
  /// `run --device-class`: the class under which results are compared, instead of the device. Empty: none.
  std::string device_class;
  std::string driver;
  std::string platform;
  bool device_is_cpu = false;
  bool memory_only = false;
  /// Device memory that the cases could use (`run --budget`); null: all of it.
  std::optional<Size> budget_bytes = std::nullopt;
  /// Maximum bytes of one allocation (`run --max-allocation`); null: what the device allows.
  std::optional<Size> max_allocation_bytes = std::nullopt;
  std::optional<Size> device_memory_bytes;
  std::optional<Size> largest_allocation_bytes;  ///< of the device; OpenCL reports it, CUDA does not
  Clocks clocks;
  std::map<std::string, std::string> environment;  ///< POCL_MEMORY_LIMIT, the kernel, the CPU, …
  std::vector<std::string> warnings;               ///< problems that may make times or bytes unreliable
  ReferenceTimes reference;
  std::optional<Rounds> rounds;  ///< null if each case was timed in one process
  bool complete = false;         ///< every planned case has an observation
  /// Missing parts of merged shards: `shard 2 of 4 is missing (2 cases: a, b)`. The cases of an unfinished
  /// shard are lost; those of a missing shard are not in the plan. Empty: nothing is missing.
  std::string partial;
  /// The first cases of the missing shards, at most kMaxLostCases. Shards of run file 1.7 do not know them.
  std::vector<std::string> lost_cases = {};

  /// Returns the device class, or else the device. Bytes and outcomes of runs with the same result are
  /// comparable.
  [[nodiscard]] const std::string& filed_under() const {
    return device_class.empty() ? device : device_class;
  }
};

struct Run {
  RunContext context;
  std::vector<Observation> observations;
};

/// Reads a run file. Throws UsageError for a missing file, and for one that is not JSON (with the place), is
/// truncated, has another version or is not a run of peakmark.
Run read_run(const std::filesystem::path& path);
/// Returns the file that contains a run until its run file is written: `RUN.partial`, next to it.
std::filesystem::path partial_of(const std::filesystem::path& run_file);
/// Returns a warning if a later run into this file was started and has not finished; else empty.
std::string later_run_warning(const std::filesystem::path& run_file);
/// Throws UsageError if a run file must not be written here: as check_replaceable() does, and if the file is
/// neither empty nor a run file, whole or truncated.
void check_run_file_replaceable(const std::filesystem::path& path);
/// Returns `RUN.previous`; if `run_file` is a link, next to its target.
std::filesystem::path previous_of(const std::filesystem::path& run_file);
/// Renames an earlier run file to previous_of(), so that a command that fails leaves no old run in place of
/// its result. Returns false if there is none. Throws UsageError as check_run_file_replaceable() does.
bool set_run_file_aside(const std::filesystem::path& path);
/// Removes previous_of(), once the new run file is written.
void remove_run_set_aside(const std::filesystem::path& path);
/// Renames previous_of() back if there is no run file, after a failed command.
void take_back_run_set_aside(const std::filesystem::path& path);
/// Returns the text of a run file. `indent` −1: all on one line.
std::string run_file_text(const Run& run, int indent);
/// Writes that text case by case, because for 100,000 cases it takes 400 MB.
void write_run_text(const Run& run, int indent, const TextSink& sink);
/// Writes a temporary file and renames it, so that a reader never sees half of it. Throws IoError if the
/// folder is read-only or the disk is full; the earlier file then stays.
void write_run(const Run& run, const std::filesystem::path& path);

/// Write and read an observation as one line of JSON, without a newline.
std::string to_json_line(const Observation& observation);
Observation observation_from_json_line(std::string_view line);

}  // namespace peakmark
