#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace peakmark::cli {

/// The tasks on one kind of device. Their shards are merged into one run.
struct ShardArray {
  std::string constraint;          ///< of sbatch; empty: any node
  std::filesystem::path run_file;  ///< of the merged shards, absolute
  std::filesystem::path folder;    ///< of its scripts, shards and logs, absolute
  /// Text of the run whose seconds balance the shards: `balance.json` in the folder. Null: none.
  std::optional<std::string> balance = std::nullopt;
};

/// What `peakmark slurm` submits: an array and a merge for each kind of device, then one last job.
struct SlurmPlan {
  std::vector<std::string> cases;        ///< suites and axes, as for `peakmark run`
  std::vector<std::string> run_options;  ///< of `peakmark run`, after `--`
  int tasks = 1;                         ///< of each array
  std::optional<std::string> partition;
  std::optional<std::string> gres;  ///< of tasks that measure
  std::optional<std::string> time;  ///< of tasks that measure
  std::optional<std::string> account;
  std::vector<std::string> sbatch_options;  ///< of all jobs: `--qos=low`
  std::vector<std::string> merge_options;   ///< of the jobs that need no device
  std::string history;                      ///< empty: none
  std::filesystem::path peakmark;           ///< the program, absolute
  std::filesystem::path working_folder;
  std::filesystem::path run_file;  ///< absolute
  std::filesystem::path folder;    ///< slurm_folder(run_file)
  std::vector<ShardArray> arrays;
};

/// Returns `RUN.slurm`, the folder of all files of a submission.
std::filesystem::path slurm_folder(const std::filesystem::path& run_file);
/// Returns the arrays of a run: one, or one for each constraint, each with a separate run file
/// (`nightly.json` and `a100` give `nightly.a100.json`). Throws UsageError if two constraints have the same
/// file name.
std::vector<ShardArray> shard_arrays(const std::filesystem::path& run_file,
                                     const std::vector<std::string>& constraints);

struct SlurmScript {
  std::filesystem::path file;
  std::string text;
};

// Names of files in the folder of an array, or of the submission.
inline constexpr const char* kShardsScript = "shards.sh";
inline constexpr const char* kMergeScript = "merge.sh";
inline constexpr const char* kFinishScript = "finish.sh";
inline constexpr const char* kBalanceRun = "balance.json";
inline constexpr const char* kExitCode = "exit_code";  ///< of the last job
/// Returns `FOLDER/shard-3.json`.
std::filesystem::path shard_file(const ShardArray& array, int index);

/// Returns the scripts for sbatch, in the order in which they are submitted. They call only `peakmark run`,
/// `merge`, `history add` and `check`. Paths and options are quoted, so they may contain any characters.
/// Throws UsageError for a value that a `#SBATCH` line cannot have.
std::vector<SlurmScript> slurm_scripts(const SlurmPlan& plan);

}  // namespace peakmark::cli
