#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/slurm_scripts.hpp"
#include "measure/runfile/field_list.hpp"

namespace peakmark::cli {

/// The Slurm ids of the jobs of one array. An empty id: not submitted, since no shard was missing.
struct ArrayJobs {
  std::string run;     ///< file of the merged run
  std::string folder;  ///< of its scripts and shards
  std::string shards;
  std::string merge;

  [[nodiscard]] ShardArray array() const { return {"", run, folder}; }
};

template <EitherConst<ArrayJobs> T, typename Fields>
void for_each_field(T& jobs, Fields& fields) {
  fields("run", jobs.run);
  fields("folder", jobs.folder);
  fields("shards", jobs.shards);
  fields("merge", jobs.merge);
}

/// The jobs of a submission: `jobs.json` in its folder.
struct SlurmJobs {
  int tasks = 1;       ///< of each array
  std::string finish;  ///< the last job
  std::vector<ArrayJobs> arrays;

  /// Returns all ids.
  [[nodiscard]] std::vector<std::string> ids() const;
};

template <EitherConst<SlurmJobs> T, typename Fields>
void for_each_field(T& jobs, Fields& fields) {
  fields("tasks", jobs.tasks);
  fields("finish", jobs.finish);
  fields("arrays", jobs.arrays);
}

/// Returns the jobs of the submission that measures into this run file; nullopt if there is none. Throws
/// UsageError for a damaged file.
std::optional<SlurmJobs> read_jobs(const std::filesystem::path& run_file);

/// Throws EnvironmentError if Slurm's programs are not in PATH.
void check_slurm();

/// A job or a task of an array in Slurm's queue.
struct QueuedTask {
  std::string id;  ///< `12` or `12_3`
  std::string state;
  std::string reason;
};
/// Returns the jobs and tasks that have not ended. Throws EnvironmentError without Slurm.
std::vector<QueuedTask> queued_tasks(const SlurmJobs& jobs);

/// Returns the shards without a complete run file, from 1.
std::vector<int> missing_shards(const ShardArray& array, int tasks);

/// Numbers of shards, by the run file into which they are merged.
using ShardsByRun = std::map<std::string, std::vector<int>>;

/// Whether submit_jobs() returns at once, or when the last job has ended.
enum class SubmitUntil { submitted, ended };

/// Submits the scripts of `jobs`. For a run in `only`, submits these shards; for another run, all shards.
/// Each merge runs after its array, and the last job after all merges. Writes the ids to `jobs.json`. Returns
/// the exit code of the last job; 0 if it was not awaited. If sbatch refuses a script, cancels what was
/// submitted before, and throws UsageError with the message of sbatch.
int submit_jobs(SlurmJobs& jobs, const std::filesystem::path& run_file, const ShardsByRun& only,
                SubmitUntil until);

/// Cancels all jobs. Throws UsageError with the message of scancel.
void cancel_jobs(const std::vector<std::string>& ids);

/// Returns a table of shards and jobs.
std::string status_table(const SlurmJobs& jobs, const std::vector<QueuedTask>& queued);

}  // namespace peakmark::cli
