#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyse/explain/derive/run_formulas.hpp"
#include "analyse/explain/report/reports.hpp"
#include "analyse/history/history.hpp"
#include "analyse/trend/findings.hpp"
#include "analyse/trend/notifications.hpp"
#include "analyse/trend/reports.hpp"
#include "base/error.hpp"
#include "base/program.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/input_output.hpp"
#include "cli/options.hpp"
#include "cli/run_origin.hpp"
#include "cli/trends_commands.hpp"
#include "measure/runfile/merge.hpp"
#include "measure/runfile/run_file.hpp"
#include "record/subprocess/worker_process.hpp"

namespace peakmark::cli {
namespace {

// The formulas of variants in runs of a history. Each run is read once and each formula found once; returned
// references are valid as long as this object. Not thread-safe.
class HistoryFormulas {
 public:
  explicit HistoryFormulas(history::History& history) : history_(history) {}

  // Returns the first observation of a case in a run; null if there is none.
  const Observation* find_case(const std::string& run_id, std::string_view case_name);

  // Returns the formulas of a variant; empty if none of its cases has an allocation sequence.
  const std::vector<VariantFormulas>& formulas(const std::string& run_id, const std::string& variant);

  // Returns the causes of the wrong estimates of a variant, one per line.
  const std::vector<std::string>& causes(const std::string& run_id, const std::string& variant);

 private:
  struct IndexedRun {
    Run run;
    std::unordered_map<std::string_view, const Observation*> by_case;  // points into `run`
  };
  struct Explained {
    Run cases;  // of the variant; `formulas` refers to it
    std::vector<VariantFormulas> formulas;
  };

  const IndexedRun& run(const std::string& id);

  history::History& history_;
  std::map<std::string, IndexedRun> runs_;
  std::map<std::pair<std::string, std::string>, Explained> explained_;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> causes_;
};

std::vector<std::string> find_causes(const Run& run, const std::string& variant) {
  const std::set<std::string> estimators = answered_estimators(run, variant);
  std::vector<VariantEstimator> asked;
  asked.reserve(estimators.size());
  for (const std::string& estimator : estimators) asked.push_back({variant, estimator});
  FormulaReport report = explain_estimators(run, asked);
  std::ranges::stable_sort(report.findings, {}, &EstimatorFindings::estimator);
  std::vector<std::string> lines;
  for (const EstimatorFindings& one : report.findings) {
    for (const EstimateCause& cause : one.causes)
      lines.push_back(one.estimator + ": " + cause_line(report.variants[one.variant], cause));
  }
  return lines;
}

const HistoryFormulas::IndexedRun& HistoryFormulas::run(const std::string& id) {
  const auto [found, is_new] = runs_.try_emplace(id);
  IndexedRun& indexed = found->second;
  if (is_new) {
    indexed.run = history_.run(id);
    for (const Observation& one : indexed.run.observations) indexed.by_case.emplace(one.case_name, &one);
  }
  return indexed;
}

const Observation* HistoryFormulas::find_case(const std::string& run_id, std::string_view case_name) {
  const IndexedRun& indexed = run(run_id);
  const auto found = indexed.by_case.find(case_name);
  return found == indexed.by_case.end() ? nullptr : found->second;
}

const std::vector<VariantFormulas>& HistoryFormulas::formulas(const std::string& run_id,
                                                              const std::string& variant) {
  const auto [found, is_new] = explained_.try_emplace({run_id, variant});
  Explained& explained = found->second;
  if (!is_new) return explained.formulas;
  for (const Observation& observation : run(run_id).run.observations) {
    if (observation.variant == variant && observation.allocation_sequence)
      explained.cases.observations.push_back(observation);
  }
  if (!explained.cases.observations.empty()) explained.formulas = explain_cases(group_cases(explained.cases));
  return explained.formulas;
}

const std::vector<std::string>& HistoryFormulas::causes(const std::string& run_id,
                                                        const std::string& variant) {
  const auto [found, is_new] = causes_.try_emplace({run_id, variant});
  if (is_new) found->second = find_causes(run(run_id).run, variant);
  return found->second;
}

constexpr std::chrono::seconds kNotifyLimit{60};
/// If a process has been sending a finding for longer, it has ended.
constexpr std::chrono::minutes kSendingLimit{15};

/// Returns why a finding could not be sent; null if it was sent.
std::optional<std::string> send(const std::string& command, const std::string& document) {
  try {
    const Answer answer =
        ask({"/bin/sh", {"-c", command}, current_environment(), document + "\n"}, kNotifyLimit);
    if (answer.end.exit_code == 0) return std::nullopt;
    return answer.how_it_ended();
  } catch (const Error& error) {
    return error.what();
  }
}

// Runs a shell command once for each finding that is new or closed since it was last sent, with the JSON of
// the finding on its standard input, and stores this in the history. Two processes never send a finding at
// the same time. Prints a warning for a command that fails or takes longer than a minute; the next call
// sends the finding again.
void notify(history::History& history, const std::vector<trend::DeviceTrends>& trends,
            const std::string& command) {
  const auto now = std::chrono::system_clock::now();
  const trend::Notices found =
      trend::find_notices(trends, history.notified(), utc_date(now), utc_date(now - kSendingLimit));
  if (!found.joined.empty()) history.update_notified({}, found.joined);
  for (const trend::Notice& notice : found.notices) {
    if (!history.update_notified(notice.expected, notice.sending)) continue;  // another process is sending it
    const std::optional<std::string> failure = send(command, notice.document);
    history.update_notified(notice.sending, failure ? notice.failed : notice.sent);
    if (failure) {
      print_message(stderr,
                    "warning: --notify: finding {} was not sent: {}; the next `trends --notify` sends it\n",
                    notice.finding, one_line(*failure));
    }
  }
}

using history::History;
using trend::Change;
using trend::DeviceHistory;
using trend::DeviceTrends;

struct TrendsOptions {
  std::string history;
  bool json = false;
  trend::TrendOptions trend;
  std::optional<std::filesystem::path> markdown;
  std::optional<std::filesystem::path> junit;
  std::string branch;  ///< empty: the base branch
  std::optional<std::string> commit_url;
  std::string device;  ///< empty: all; kNewestDevice
  std::string notify;  ///< a command; empty: none
  bool allow_uncompared = false;
  std::optional<std::chrono::seconds> max_age;
  std::string max_age_text;
};

/// Returns the duration of `36h`, `2d` or `90m`.
std::chrono::seconds parse_age(const std::string& text) {
  constexpr double kMaxHours = 24.0 * 3650;
  const std::map<char, double> hours_of{{'m', 1.0 / 60}, {'h', 1}, {'d', 24}};
  const auto unit = hours_of.find(text.empty() ? ' ' : text.back());
  if (unit != hours_of.end()) {
    const auto number = parse_number<double>(text.substr(0, text.size() - 1));
    if (number && *number > 0 && *number * unit->second <= kMaxHours)
      return std::chrono::seconds(std::llround(*number * unit->second * 3600));
  }
  throw UsageError(
      fmt::format("'{}' is not an age: write minutes, hours or days, such as 90m, 36h or 2d", text));
}

/// The value of --device for the device of the newest run.
constexpr const char* kNewestDevice = "newest";

/// The value of --branch for the branch that `history add` would store here.
constexpr const char* kThisBranch = "auto";

/// Adds the changes of formulas to reported changes of peaks, and the messages of worse outcomes.
void add_details(HistoryFormulas& formulas, DeviceTrends& device) {
  const std::vector<trend::HistoryRun>& runs = device.history->runs;
  for (Change& change : device.trends.changes) {
    const bool is_outcome = change.metric == trend::metric::outcome;
    if (!is_outcome && change.metric != trend::metric::requested_peak_bytes) continue;
    if (!trend::is_open(change) && !change.is_news) continue;
    const std::string& run = runs[change.first].id;
    const Observation* const one = formulas.find_case(run, change.case_name);
    if (one == nullptr) continue;
    if (is_outcome) change.message = one->message;
    if (is_outcome || !one->allocation_sequence) continue;
    change.formulas = changed_formula_lines(
        changed_allocations(formulas.formulas(runs[change.last_before].id, one->variant),
                            formulas.formulas(run, one->variant), one->axes));
  }
}

/// Adds the reasons why estimates are outside their window.
void add_causes(HistoryFormulas& formulas, DeviceTrends& device) {
  std::map<std::string_view, const trend::CaseOutcomes*> outcomes;
  for (const trend::CaseOutcomes& one : device.history->outcomes) outcomes.emplace(one.case_name, &one);
  for (trend::CaseStatus& status : device.statuses) {
    if (status.state != trend::CaseState::window) continue;
    const std::size_t run = outcomes.at(status.case_name)->last_planned().value();
    status.causes = formulas.causes(device.history->runs[run].id, trend::variant_name(status.case_name));
  }
}

/// Returns the branch to compare with the base branch; empty for the base branch.
std::string chosen_branch(const TrendsOptions& options, const std::string& base_branch) {
  std::string branch = options.branch;
  if (branch == kThisBranch) {
    branch = find_branch_here(current_environment());
    if (branch.empty()) {
      throw UsageError(
          "--branch auto: no CI job and no git clone with a branch here; name the branch (`peakmark history "
          "log` lists them)");
    }
  }
  return branch == base_branch ? "" : branch;
}

/// Returns the devices that --device selects; without it, all.
std::vector<history::DeviceBackend> devices_to_judge(History& history, const TrendsOptions& options,
                                                     const std::string& branch) {
  if (options.device != kNewestDevice) return devices_named(history, branch, options.device);
  std::vector<history::DeviceBackend> devices = history.devices(branch);
  const std::vector<history::LoggedRun> runs = history.log();
  const auto newest = std::find_if(runs.rbegin(), runs.rend(), [&](const history::LoggedRun& run) {
    return std::ranges::find(devices, history::DeviceBackend{run.device, run.backend}) != devices.end();
  });
  if (newest == runs.rend()) return devices;
  return {{newest->device, newest->backend}};
}

ExitCode show_trends(const TrendsOptions& options) {
  remove_earlier_outputs({options.markdown.value_or(""), options.junit.value_or("")}, {options.history});
  if (options.commit_url && !options.commit_url->empty()) trend::check_commit_url(*options.commit_url);
  const bool notifies = !options.notify.empty();
  const auto now = std::chrono::system_clock::now();
  const auto history =
      open_history(options.history, notifies ? History::Purpose::change : History::Purpose::read);
  const history::Settings settings = history->settings();
  const std::string branch = chosen_branch(options, settings.base_branch);
  const auto complete = [&](DeviceTrends& device) {
    if (branch.empty()) device.newest = trend::find_newest_runs(*device.history, now, options.max_age);
    device.commit_url = options.commit_url.value_or(settings.commit_url);
    device.statuses = trend::find_case_statuses(*device.history, device.trends,
                                                [&](const std::string& id) { return history->run(id); });
    HistoryFormulas formulas(*history);
    add_details(formulas, device);
    add_causes(formulas, device);
  };
  const HistoryTrends found = find_history_trends(*history, devices_to_judge(*history, options, branch),
                                                  branch, options.trend, complete);
  const std::vector<DeviceTrends>& trends = found.devices;
  if (options.markdown) write_output_file(*options.markdown, trend::trends_markdown(trends));
  if (options.junit) write_output_file(*options.junit, trend::trends_junit(trends));
  const ExitCode code = trend::exit_code_of(trends, options.allow_uncompared);
  print_text(options.json ? trend::trends_json(trends, code) : trend::trends_table(trends));
  if (notifies) notify(*history, trends, options.notify);
  const std::size_t stale = trend::count_stale_suites(trends);
  if (stale > 0) {
    print_message(
        stderr,
        "{} without a run of the last {}: exit code 4; see why the nightly job does not measure. What "
        "is not measured any more: leave it out with --device, or remove its runs\n",
        quantity(stale, "suite is", "suites are"), options.max_age_text);
  } else if (code == ExitCode::nothing) {
    print_message(
        stderr,
        "not compared: exit code 4; the next run can be compared, or allow it with --allow-uncompared\n");
  }
  return code;
}

}  // namespace

void add_trends_command(CLI::App& app, Result& result) {
  const auto options = std::make_shared<TrendsOptions>();
  CLI::App* const command =
      app.add_subcommand("trends", "Find changes of bytes, times and estimates in a history");
  command->require_subcommand(0, 1);
  CLI::App* const accept = add_accept_command(*command);  // trends_accept_command.cpp
  add_history_option(*command, options->history);
  add_allow_growth_option(*command, options->trend.allowed_growth);
  command->add_flag("--json", options->json, "Print the changes as JSON");
  add_file_option(*command, "--markdown", options->markdown, "Write a summary in markdown");
  add_file_option(*command, "--junit", options->junit, "Write a JUnit file with a test for each case");
  CLI::Option* const branch =
      command
          ->add_option("--branch", options->branch,
                       "Report what this branch or pull request changed since its merge base; auto: the "
                       "branch of this CI job, or of the git clone in this folder")
          ->type_name(value_name::kBranch)
          ->check(kNotEmpty);
  CLI::Option* const device =
      command
          ->add_option("--device", options->device,
                       "Read and report only this device; newest: the device and backend of the newest run")
          ->type_name(value_name::kDevice)
          ->check(kNotEmpty);
  add_parsed_option(
      *command, "--max-age",
      [options = options.get()](const std::string& text) {
        options->max_age = parse_age(text);
        options->max_age_text = text;
      },
      "Fail if the newest run of a suite on a device is older, such as 36h, 2d or 90m")
      ->type_name("AGE")
      ->excludes(branch);
  only_when(command->add_option(
                "--commit-url", options->commit_url,
                "Link commits to this address, with {commit} in it. Default: `peakmark history set`"),
            "with --json, --markdown or --notify",
            [command] {
              return command->count("--json") + command->count("--markdown") + command->count("--notify") > 0;
            })
      ->type_name("URL");
  command->add_flag("--allow-uncompared", options->allow_uncompared,
                    "Do not fail where no earlier run can be compared, as in a first run");
  command
      ->add_option("--notify", options->notify,
                   "Run this shell command once for each new and each closed regression, with JSON on its "
                   "standard input")
      ->type_name("SHELL_COMMAND")
      ->check(kNotEmpty)
      ->excludes(branch)
      ->excludes(device);
  for (CLI::Option* const option : command->get_options()) {
    if (option != command->get_help_ptr()) accept->excludes(option);  // it has its own options
  }
  set_help(
      *command,
      {.notes =
           {"A change of bytes counts at once. A change of times is suspicious until a second measurement "
            "of the run (`run --confirm`) or the next run confirms it.",
            "If the command of --notify fails, a warning is printed, and the next `trends --notify` runs it "
            "again. The exit code is that of the verdict."},
       .exit_codes = {
           {"0", "compared, and not worse"},
           {"1",
            "a confirmed regression is open: neither accepted nor resolved; of a branch, also a case "
            "that fails a rule and passes on the base branch"},
           {"2", "wrong usage, or the history cannot be read"},
           {"4",
            "nothing was compared, or a run of a branch was not (--allow-uncompared); a suite was not "
            "measured within --max-age"}}});
  command->callback([options, command, &result] {
    if (command->get_subcommands().empty()) result.code = show_trends(*options);
  });
}

}  // namespace peakmark::cli
