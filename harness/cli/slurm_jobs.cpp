#include "cli/slurm_jobs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <sstream>

#include "base/error.hpp"
#include "base/program.hpp"
#include "base/text.hpp"
#include "base/text_file.hpp"
#include "base/text_table.hpp"
#include "measure/runfile/json_fields.hpp"
#include "measure/runfile/run_file.hpp"
#include "record/subprocess/worker_process.hpp"

namespace peakmark::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kJobs = "jobs.json";
constexpr FormatVersion kJobsFormat{1, 0};
constexpr std::chrono::seconds kSlurmLimit{120};  // slurmctld of a large cluster answers slowly

/// Throws EnvironmentError if the program is not in PATH.
fs::path slurm_program(const std::string& name) {
  if (const auto program = find_program(current_environment(), name)) return *program;
  throw EnvironmentError(fmt::format(
      "{}: no such program in PATH; work on a machine of the cluster that can submit jobs, or let --dry-run "
      "print the scripts",
      name));
}

WorkerCommand slurm_command(const std::string& name, std::vector<std::string> arguments) {
  return {slurm_program(name), std::move(arguments), {}, ""};
}

Answer ask_slurm(const std::string& name, std::vector<std::string> arguments) {
  return ask(slurm_command(name, std::move(arguments)), kSlurmLimit);
}

/// Returns lines as one: `sbatch: error: A; sbatch: error: B`.
std::string joined_lines(const std::string& text) {
  std::string joined;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) joined += (joined.empty() ? "" : "; ") + line;
  }
  return joined;
}

[[noreturn]] void throw_refusal(const fs::path& script, const std::string& why) {
  throw UsageError(fmt::format("{}: sbatch rejects it: {}; change the options; --dry-run prints the script",
                               script.string(), joined_lines(why)));
}

/// Returns `12` for `12;cluster`, the output of `sbatch --parsable`.
std::string job_id(const std::string& line) {
  return line.substr(0, line.find_first_of(";\n"));
}

std::string submit_script(const fs::path& script, const std::vector<std::string>& options) {
  std::vector<std::string> arguments{"--parsable"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.push_back(script.string());
  const Answer answer = ask_slurm("sbatch", arguments);
  std::string id = job_id(answer.output);
  if (answer.end.exit_code != 0 || id.empty()) throw_refusal(script, answer.how_it_ended());
  return id;
}

/// Submits the last job and waits for it. Calls `submitted` with its id.
template <typename Submitted>
int submit_and_wait(const fs::path& script, const std::vector<std::string>& options, Submitted&& submitted) {
  std::vector<std::string> arguments{"--parsable", "--wait"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.push_back(script.string());
  WorkerProcess process(slurm_command("sbatch", arguments));
  std::string id;
  std::string errors;
  for (;;) {
    const WorkerEvent event = process.next(std::nullopt);
    if (event.kind == WorkerEvent::Kind::ended) break;
    if (event.kind == WorkerEvent::Kind::error) errors += event.text + "\n";
    if (event.kind != WorkerEvent::Kind::output || !id.empty()) continue;
    id = job_id(event.text);
    submitted(id);
  }
  if (id.empty() || !process.end().exit_code) throw_refusal(script, process.end().text() + ": " + errors);
  return *process.end().exit_code;
}

void write_jobs(const SlurmJobs& jobs, const fs::path& run_file) {
  json_fields::Json json = json_fields::begin(kJobsFormat);
  json.update(json_fields::fields_json(jobs));
  replace_text_file(slurm_folder(run_file) / kJobs, json_fields::pretty(json, 1) + "\n");
}

std::string after(const std::vector<std::string>& ids) {
  return fmt::format("--dependency=afterany:{}", fmt::join(ids, ":"));
}

/// Submits a shards script, for these shards or for all, and the merge script.
void submit_array(ArrayJobs& jobs, const std::optional<std::vector<int>>& only) {
  const fs::path folder = jobs.folder;
  std::vector<std::string> options;
  if (only) options.push_back(fmt::format("--array={}", fmt::join(*only, ",")));
  if (!only || !only->empty()) jobs.shards = submit_script(folder / kShardsScript, options);
  std::vector<std::string> merge_options;
  if (!jobs.shards.empty()) merge_options.push_back(after({jobs.shards}));
  jobs.merge = submit_script(folder / kMergeScript, merge_options);
}

/// Counts the cases in the partial run of a shard: it has one line per case, and lines with the context.
std::size_t partial_cases(const fs::path& partial) {
  std::istringstream lines(read_text_file(partial));
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(R"({"context")")) ++count;
  }
  return count;
}

struct ShardState {
  bool is_complete = false;
  std::string measured;  ///< `12 of 40 cases`, or why its file cannot be read
};

/// Returns the state of a shard according to its files.
ShardState shard_state(const fs::path& shard) {
  try {
    if (fs::exists(shard)) {
      const Run run = read_run(shard);
      return {run.context.complete,
              fmt::format("{} of {}", run.observations.size(), quantity(run.context.planned.size(), "case"))};
    }
    if (fs::exists(partial_of(shard))) return {false, quantity(partial_cases(partial_of(shard)), "case")};
  } catch (const Error& error) {
    return {false, error.what()};  // truncated or something else: `run --resume` reports which
  }
  return {false, "–"};
}

std::string queue_text(const std::vector<QueuedTask>& queued, const std::string& id) {
  const auto found = std::ranges::find(queued, id, &QueuedTask::id);
  if (found == queued.end()) return {};
  return found->reason.empty() || found->reason == "None" ? found->state
                                                          : found->state + " (" + found->reason + ")";
}

}  // namespace

std::vector<std::string> SlurmJobs::ids() const {
  std::vector<std::string> all;
  for (const ArrayJobs& array : arrays) {
    for (const std::string& id : {array.shards, array.merge}) {
      if (!id.empty()) all.push_back(id);
    }
  }
  if (!finish.empty()) all.push_back(finish);
  return all;
}

std::optional<SlurmJobs> read_jobs(const fs::path& run_file) {
  const fs::path file = slurm_folder(run_file) / kJobs;
  if (!fs::exists(file)) return std::nullopt;
  try {
    SlurmJobs jobs;
    json_fields::read_fields(json_fields::Json::parse(read_text_file(file)), jobs);
    return jobs;
  } catch (const json_fields::Json::exception& error) {
    throw UsageError(fmt::format("{}: {}; remove {} and submit again", file.string(),
                                 json_fields::message_of(error), file.parent_path().string()));
  }
}

void check_slurm() {
  for (const char* const name : {"sbatch", "squeue", "scancel"}) slurm_program(name);
}

std::vector<QueuedTask> queued_tasks(const SlurmJobs& jobs) {
  const Answer answer = ask_slurm("squeue", {"--me", "--noheader", "--array", "--format=%i|%T|%r"});
  if (answer.end.exit_code != 0) throw IoError("squeue: " + joined_lines(answer.how_it_ended()));
  const std::vector<std::string> ids = jobs.ids();
  std::vector<QueuedTask> queued;
  std::istringstream lines(answer.output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    QueuedTask task;
    std::getline(fields, task.id, '|');
    std::getline(fields, task.state, '|');
    std::getline(fields, task.reason, '|');
    const std::string job = task.id.substr(0, task.id.find('_'));
    if (std::ranges::find(ids, job) != ids.end()) queued.push_back(task);
  }
  return queued;
}

std::vector<int> missing_shards(const ShardArray& array, int tasks) {
  std::vector<int> missing;
  for (int index = 1; index <= tasks; ++index) {
    if (!shard_state(shard_file(array, index)).is_complete) missing.push_back(index);
  }
  return missing;
}

int submit_jobs(SlurmJobs& jobs, const fs::path& run_file, const ShardsByRun& only, SubmitUntil until) {
  jobs.finish.clear();
  for (ArrayJobs& array : jobs.arrays) {
    array.shards.clear();
    array.merge.clear();
  }
  try {
    std::vector<std::string> merges;
    merges.reserve(jobs.arrays.size());
    for (ArrayJobs& array : jobs.arrays) {
      const auto found = only.find(array.run);
      submit_array(array, found == only.end() ? std::nullopt : std::optional(found->second));
      merges.push_back(array.merge);
    }
    const fs::path script = slurm_folder(run_file) / kFinishScript;
    if (until == SubmitUntil::submitted) {
      jobs.finish = submit_script(script, {after(merges)});
      write_jobs(jobs, run_file);
      return 0;
    }
    return submit_and_wait(script, {after(merges)}, [&](const std::string& id) {
      jobs.finish = id;
      write_jobs(jobs, run_file);
    });
  } catch (const Error&) {
    if (jobs.finish.empty()) cancel_jobs(jobs.ids());
    throw;
  }
}

void cancel_jobs(const std::vector<std::string>& ids) {
  if (ids.empty()) return;
  const Answer answer = ask_slurm("scancel", ids);
  if (answer.end.exit_code != 0) throw UsageError("scancel: " + joined_lines(answer.how_it_ended()));
}

std::string status_table(const SlurmJobs& jobs, const std::vector<QueuedTask>& queued) {
  TextTable table({{"part", TextTable::Align::left},
                   {"job", TextTable::Align::left},
                   {"state", TextTable::Align::left},
                   {"measured", TextTable::Align::left}});
  for (const ArrayJobs& array : jobs.arrays) {
    const std::string run = jobs.arrays.size() == 1 ? "" : fs::path(array.run).filename().string() + " ";
    for (int index = 1; index <= jobs.tasks; ++index) {
      const fs::path shard = shard_file(array.array(), index);
      const std::string id = array.shards.empty() ? "" : fmt::format("{}_{}", array.shards, index);
      std::string state = queue_text(queued, id);
      const ShardState known = shard_state(shard);
      if (state.empty()) state = known.is_complete ? "complete" : "ended, not complete";
      table.add({fmt::format("{}shard {}", run, index), id, state, known.measured});
    }
    std::string state = queue_text(queued, array.merge);
    if (state.empty()) state = fs::exists(array.run) ? "merged" : "ended, not merged";
    table.add({run + "merge", array.merge, state, ""});
  }
  const std::string state = queue_text(queued, jobs.finish);
  table.add({"finish", jobs.finish, state.empty() ? "ended" : state, ""});
  return table.text();
}

}  // namespace peakmark::cli
