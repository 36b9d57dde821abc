#include "cli/slurm_scripts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"

namespace peakmark::cli {
namespace {

namespace fs = std::filesystem;

/// Throws UsageError for a value that cannot be in a `#SBATCH` line. sbatch reads quotes as a shell does, but
/// it does not keep a backslash within them, and in a file name a backslash disables `%a`. The file of the
/// jobs is UTF-8.
void check_directive(const std::string& name, const std::string& value) {
  if (one_line(value) == value && value.find('\\') == std::string::npos) return;
  throw UsageError(fmt::format(
      "slurm: {} {}: has a line break, another control character, a backslash, or bytes that are not UTF-8, "
      "which a #SBATCH line cannot have; use another {}",
      name, one_line(value), name.starts_with('-') ? "value" : "folder"));
}

/// Throws UsageError for text that is not exactly options of sbatch.
void check_option(const std::string& name, const std::string& option) {
  if (one_line(option) == option && option.starts_with('-')) return;
  throw UsageError(fmt::format(
      "slurm: {} {}: is not an option of sbatch on one line; write it as {}=--qos=low, with quotes "
      "around a value that has blanks",
      name, one_line(option), name));
}

/// Returns a `#SBATCH` line.
std::string directive(const std::string& name, const std::string& value) {
  return fmt::format("#SBATCH --{}={}\n", name, script_word(value));
}

/// Returns a path in which sbatch replaces nothing: in file names it would replace `%a` and others.
std::string without_patterns(const fs::path& path) {
  std::string text;
  for (const char letter : path.string()) text += letter == '%' ? "%%" : std::string(1, letter);
  return text;
}

/// Returns the last part of a path, for a comment.
std::string name_in_comment(const fs::path& path) {
  return one_line(path.filename().string());
}

std::string words(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& word : all) text += " " + script_word(word);
  return text;
}

/// Returns the beginning of every script.
std::string head(const SlurmPlan& plan, const std::string& about, const std::string& job,
                 const std::string& log) {
  std::string text = "#!/bin/bash\n" + about + directive("job-name", job) + directive("output", log) +
                     "#SBATCH --open-mode=append\n#SBATCH --requeue\n" +
                     directive("chdir", plan.working_folder.string());
  if (plan.partition) text += directive("partition", *plan.partition);
  if (plan.account) text += directive("account", *plan.account);
  return text;
}

/// Returns options unchanged. They come last, because sbatch uses the later one of two equal options.
std::string directives(const std::vector<std::string>& options) {
  std::string text;
  for (const std::string& option : options) text += "#SBATCH " + option + "\n";
  return text;
}

/// Returns the beginning of the script of a job that needs no device.
std::string merge_head(const SlurmPlan& plan, const std::string& about, const std::string& job,
                       const fs::path& log) {
  return head(plan, about, job, without_patterns(log)) + directives(plan.sbatch_options) +
         directives(plan.merge_options);
}

std::string shards_script(const SlurmPlan& plan, const ShardArray& array) {
  const std::string about = fmt::format(
      "# Measures {}: {} tasks, each one shard. Written by `peakmark slurm`.\n"
      "#   sbatch {}                   measures all shards; finished ones are left alone\n"
      "#   sbatch --array=2,5 {}       measures these shards\n",
      plan.cases.empty() ? "a suite" : name_in_comment(plan.cases.front()), plan.tasks, kShardsScript,
      kShardsScript);
  std::string text = head(plan, about, "peakmark-shards", without_patterns(array.folder) + "/shard-%a.log") +
                     fmt::format("#SBATCH --array=1-{}\n", plan.tasks);
  if (plan.gres) text += directive("gres", *plan.gres);
  if (plan.time) text += directive("time", *plan.time);
  if (!array.constraint.empty()) text += directive("constraint", array.constraint);
  text += directives(plan.sbatch_options);
  const std::string balance =
      array.balance ? " --balance " + script_word((array.folder / kBalanceRun).string()) : "";
  return text + fmt::format(
                    "# With exec, SIGTERM of Slurm (preemption, time limit, requeue) reaches peakmark, which "
                    "keeps what "
                    "it has\n"
                    "# measured and ends. --resume continues when the task is requeued or submitted again.\n"
                    "exec {} run{} --shard \"$SLURM_ARRAY_TASK_ID/{}\"{} --resume{} \\\n"
                    "  -o {}/shard-\"$SLURM_ARRAY_TASK_ID\".json\n",
                    script_word(plan.peakmark.string()), words(plan.cases), plan.tasks, balance,
                    words(plan.run_options), script_word(array.folder.string()));
}

std::string merge_script(const SlurmPlan& plan, const ShardArray& array) {
  const std::string about = fmt::format(
      "# Merges the shards into {}. Written by `peakmark slurm`.\n"
      "#   sbatch --dependency=afterany:ID {}     where ID is that of {}\n",
      name_in_comment(array.run_file), kMergeScript, kShardsScript);
  const std::string peakmark = plan.peakmark.string();
  // A separate word in the script, because quotes within quotes would not protect their content.
  const std::string hint =
      fmt::format("To measure the missing and unfinished shards alone: {} slurm --rerun -o {}",
                  shell_word(peakmark), shell_word(plan.run_file.string()));
  return merge_head(plan, about, "peakmark-merge", array.folder / "merge.log") +
         fmt::format(
             "{0} merge {1}/shard-*.json -o {2} && exit\n"
             "code=$?\n"
             "echo {3} >&2\n"
             "exit $code\n",
             script_word(peakmark), script_word(array.folder.string()), script_word(array.run_file.string()),
             script_word(hint));
}

std::string finish_script(const SlurmPlan& plan) {
  const std::string about = fmt::format(
      "# Checks the merged run{}. Its exit code is that of peakmark. Written by `peakmark slurm`.\n"
      "#   sbatch --dependency=afterany:ID {}    where ID is that of {}; of several, ID:ID\n",
      plan.history.empty() ? "" : " and adds it to the history", kFinishScript, kMergeScript);
  std::vector<std::string> runs;
  runs.reserve(plan.arrays.size());
  for (const ShardArray& array : plan.arrays) runs.push_back(array.run_file.string());
  const std::string peakmark = script_word(plan.peakmark.string());
  std::string text = merge_head(plan, about, "peakmark-finish", plan.folder / "finish.log");
  text +=
      "code=0\n"
      "keep() {  # keeps the first of these codes, as peakmark does\n"
      "  local one\n"
      "  for one in 2 5 4 3 1; do\n"
      "    if [ \"$one\" = \"$1\" ] || [ \"$one\" = \"$code\" ]; then code=$one; return; fi\n"
      "  done\n"
      "  code=$1\n"
      "}\n";
  if (!plan.history.empty()) {
    text += fmt::format("for run in{}; do\n  {} history add \"$run\" --history {} || keep $?\ndone\n",
                        words(runs), peakmark, script_word(plan.history));
  }
  const std::string history = plan.history.empty() ? "" : " --history " + script_word(plan.history);
  return text + fmt::format("{} check{}{} || keep $?\necho \"$code\" >{}\nexit \"$code\"\n", peakmark,
                            words(runs), history, script_word((plan.folder / kExitCode).string()));
}

/// Returns a constraint as a part of a file name: `a100|h100` becomes `a100-h100`.
std::string file_part(const std::string& constraint) {
  std::string part;
  for (const char letter : constraint) {
    part += std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' ? letter : '-';
  }
  return part;
}

void check_directives(const SlurmPlan& plan) {
  check_directive("this folder", plan.working_folder.string());
  check_directive("-o", plan.run_file.string());
  const std::pair<const char*, const std::optional<std::string>&> values[] = {{"--partition", plan.partition},
                                                                              {"--gres", plan.gres},
                                                                              {"--time", plan.time},
                                                                              {"--account", plan.account}};
  for (const auto& [name, value] : values) {
    if (value) check_directive(name, *value);
  }
  for (const ShardArray& array : plan.arrays) check_directive("--constraint", array.constraint);
  for (const std::string& option : plan.sbatch_options) check_option("--sbatch-option", option);
  for (const std::string& option : plan.merge_options) check_option("--merge-option", option);
}

}  // namespace

fs::path slurm_folder(const fs::path& run_file) {
  return run_file.string() + ".slurm";
}

std::vector<ShardArray> shard_arrays(const fs::path& run_file, const std::vector<std::string>& constraints) {
  const fs::path folder = slurm_folder(run_file);
  std::vector<ShardArray> arrays;
  if (constraints.size() < 2) {
    arrays.push_back({constraints.empty() ? "" : constraints.front(), run_file, folder});
    return arrays;
  }
  arrays.reserve(constraints.size());
  for (const std::string& constraint : constraints) {
    const std::string part = file_part(constraint);
    fs::path own = run_file;
    own.replace_filename(run_file.stem().string() + "." + part + run_file.extension().string());
    if (std::ranges::find(arrays, own, &ShardArray::run_file) != arrays.end()) {
      throw UsageError(
          fmt::format("--constraint {}: another feature has the same run file, {}; leave one out", constraint,
                      own.filename().string()));
    }
    arrays.push_back({constraint, own, folder / part});
  }
  return arrays;
}

fs::path shard_file(const ShardArray& array, int index) {
  return array.folder / fmt::format("shard-{}.json", index);
}

std::vector<SlurmScript> slurm_scripts(const SlurmPlan& plan) {
  check_directives(plan);
  std::vector<SlurmScript> scripts;
  scripts.reserve(2 * plan.arrays.size() + 1);
  for (const ShardArray& array : plan.arrays) {
    scripts.push_back({array.folder / kShardsScript, shards_script(plan, array)});
    scripts.push_back({array.folder / kMergeScript, merge_script(plan, array)});
  }
  scripts.push_back({plan.folder / kFinishScript, finish_script(plan)});
  return scripts;
}

}  // namespace peakmark::cli
