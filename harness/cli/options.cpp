#include "cli/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/date.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "measure/supervise/memory_reserve.hpp"
#include "measure/sweep/description.hpp"
#include "measure/sweep/suite_keys.hpp"
#include "record/profile/profile.hpp"

namespace peakmark::cli {

std::vector<const CLI::Option*> shown_options(const CLI::App& command) {
  return command.get_options(
      [](const CLI::Option* option) { return option->nonpositional() && !option->get_group().empty(); });
}

std::vector<const CLI::Option*> positionals(const CLI::App& command) {
  return command.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

std::vector<const CLI::App*> subcommands(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App*) { return true; });
}

const CLI::App* find_subcommand(const CLI::App& command, const std::string& name) {
  const auto all = subcommands(command);
  const auto found = std::ranges::find(all, name, [](const CLI::App* one) { return one->get_name(); });
  return found == all.end() ? nullptr : *found;
}

std::vector<std::string> option_names(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<std::string> choices(const CLI::Option& option) {
  const std::string type = option.get_type_name();  // CLI11 provides the values of IsMember only here
  std::vector<std::string> words;
  const std::size_t begin = type.find('{');
  const std::size_t end = type.find('}', begin);
  if (begin == std::string::npos || end == std::string::npos) return words;
  std::istringstream inside(type.substr(begin + 1, end - begin - 1));
  for (std::string word; std::getline(inside, word, ',');) words.push_back(word);
  return words;
}

std::string placeholder(const CLI::Option& option) {
  if (max_values(option) == 0) return "";
  if (!option.get_option_text().empty()) return option.get_option_text();
  if (option.get_positional()) return option.get_name(true);
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

int max_values(const CLI::Option& option) {
  return std::min(option.get_items_expected_max(), kAnyNumber);
}

bool is_repeatable(const CLI::Option& option) {
  return max_values(option) == kAnyNumber ||
         option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
}

const CLI::Validator kFileName([](const std::string& text)
                                   -> std::string { return text.empty() ? "the file name is empty" : ""; },
                               "", "");
const CLI::Validator kNotEmpty(
    [](const std::string& text) -> std::string { return text.empty() ? "the value is empty" : ""; }, "", "");

CLI::Option* only_when(CLI::Option* option, const std::string& when,
                       const std::function<bool()>& has_effect) {
  const std::string condition = "Only " + when;
  if (option->get_group() != condition)
    option->description(fmt::format("{}. {}", option->get_description(), condition));
  return option->check(CLI::Validator(
      [when, has_effect](const std::string& /*value*/) {
        return has_effect()
                   ? ""
                   : fmt::format("changes nothing here: it takes effect only {}; leave it out", when);
      },
      "", ""));
}

namespace {

std::chrono::milliseconds parse_seconds(const std::string& text) {
  constexpr double kMaxSeconds = 10.0 * 366 * 24 * 3600;
  const auto seconds = parse_number<double>(text);
  if (!seconds || !(*seconds >= 0.001 && *seconds <= kMaxSeconds)) {
    throw UsageError(
        fmt::format("'{}' is not a time: write seconds, from 0.001 to {:.0f}", text, kMaxSeconds));
  }
  return std::chrono::milliseconds(std::llround(*seconds * 1000));
}

}  // namespace

CLI::Option* add_size_option(CLI::App& command, const std::string& names, std::optional<Size>& bytes,
                             const std::string& description) {
  return add_parsed_option(
             command, names, [&bytes](const std::string& text) { bytes = parse_size(text); }, description)
      ->type_name(value_name::kSize);
}

CLI::Option* add_budget_option(CLI::App& command, std::optional<MemoryBudget>& budget,
                               const std::string& description) {
  return add_parsed_option(
             command, "--budget", [&budget](const std::string& text) { budget = parse_budget(text); },
             description)
      ->type_name(value_name::kSize)
      ->envname("PEAKMARK_BUDGET");
}

CLI::Option* add_max_allocation_option(CLI::App& command, std::optional<Size>& bytes) {
  return add_parsed_option(
             command, "--max-allocation",
             [&bytes](const std::string& text) {
               bytes = parse_size(text);
               if (*bytes < 1 || *bytes > kMaxBudget)
                 throw UsageError(
                     fmt::format("{} is not a limit of one allocation: write 1 byte to 256 TiB", text));
             },
             "Refuse each allocation of more than this, as a device does that allows less in one than it has")
      ->type_name(value_name::kSize)
      ->envname("PEAKMARK_MAX_ALLOCATION");
}

std::optional<Size> budget_bytes(const std::optional<MemoryBudget>& budget, const DeviceChoice& choice) {
  if (!budget) return std::nullopt;
  if (budget->bytes) return budget->bytes;
  const ResolvedBudget resolved = resolve_budget_on(*budget, choose_device(choice, list_devices()));
  print_message(stderr, "budget: {}: {}\n", format_size(resolved.bytes), resolved.text);
  return resolved.bytes;
}

CLI::Option* add_seconds_option(CLI::App& command, const std::string& names,
                                std::optional<std::chrono::milliseconds>& time,
                                const std::string& description) {
  return add_parsed_option(
             command, names, [&time](const std::string& text) { time = parse_seconds(text); }, description)
      ->type_name(value_name::kSeconds);
}

CLI::Option* add_timeout_option(CLI::App& command, CaseLimit& limit) {
  return add_parsed_option(
             command, "--timeout",
             [&limit](const std::string& text) {
               limit = {parse_seconds(text), std::chrono::milliseconds(0)};
             },
             "End a case after this time. Default: 60 s, and 10 s for each GiB that it needs")
      ->type_name(value_name::kSeconds);
}

CLI::Option* add_allow_growth_option(CLI::App& command, GrowthAllowance& allowance) {
  return add_parsed_option(
             command, "--allow-growth",
             [&allowance](const std::string& text) { allowance = parse_growth_allowance(text); },
             "Allow this growth of a peak, in bytes or percent, such as 64KiB or 0.1%. Default: 0")
      ->type_name(value_name::kGrowth);
}

CLI::Option* repeatable(CLI::Option* option) {
  // CLI11 lets an option of a list take all words that follow.
  return option->expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

bool take_axis(const std::string& word, SelectionOptions& selection) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || !is_axis_name(std::string_view(word).substr(0, equals))) return false;
  selection.axes.push_back(word);
  return true;
}

void add_cases_argument(CLI::App& command, SelectionOptions& selection) {
  command
      .add_option_function<std::vector<std::string>>(
          "SUITE",
          [&selection](const std::vector<std::string>& words) {
            for (const std::string& word : words) {
              std::error_code error;
              if (take_axis(word, selection)) continue;
              if (word.ends_with(".toml") || word.find('/') == std::string::npos ||
                  (std::filesystem::exists(word, error) && !std::filesystem::is_directory(word, error))) {
                selection.suites.emplace_back(word);
              } else if (std::filesystem::exists(word + ".toml", error)) {
                throw UsageError(
                    fmt::format("'{}' is not a variant; did you mean the suite '{}.toml'?", word, word));
              } else {
                selection.named_variants.push_back(word);
              }
            }
            if (selection.suites.empty() && selection.named_variants.empty())
              throw UsageError("no suite and no variant: write SUITE.toml, or OPERATION/VARIANT AXIS=VALUE…");
          },
          "Suite files; variants to measure instead of the suites' sweeps, such as padding/computed; values "
          "of axes, such as nx=512,1024 n=4..64")
      ->required();
}

std::array<CLI::Option*, 2> add_device_options(CLI::App& command, SelectionOptions& selection) {
  return {
      command.add_option("--backend", selection.backend, "Use this backend. Default: the suite's, or auto")
          ->type_name(value_name::kBackend),
      command.add_option("--device", selection.device, "Use the device with this index or part of a name")
          ->type_name(value_name::kDevice)};
}

CLI::Option* add_axis_option(CLI::App& command, SelectionOptions& selection) {
  return repeatable(command.add_option_function<std::vector<std::string>>(
                        "--axis",
                        [&selection](const std::vector<std::string>& texts) {
                          selection.axes.insert(selection.axes.end(), texts.begin(), texts.end());
                        },
                        "Replace the values of an axis in the suites: nx=4096,8192, n=4..64, n=4..64:20 or "
                        "sigma=0.5..2:0.5"))
      ->type_name("AXIS=VALUES");
}

std::array<CLI::Option*, 4> add_selection_options(CLI::App& command, SelectionOptions& selection) {
  CLI::Option* const axis = add_axis_option(command, selection);
  CLI::Option* const filter =
      command.add_option("--filter", selection.filter,
                         "Select cases whose name, or name with all axes, matches this regular expression");
  const auto [backend, device] = add_device_options(command, selection);
  return {axis, filter->type_name(value_name::kRegex), backend, device};
}

CLI::Option* only_with_times(CLI::Option* option, const SelectionOptions& selection) {
  return only_when(option, "without --backend dry", [&selection] { return selection.backend != "dry"; });
}

CLI::Option* add_require_option(CLI::App& command, SelectionOptions& selection) {
  return command.add_option("--require", selection.require, "Exit with 4 if there is no such device")
      ->check(CLI::IsMember({"cuda", "gpu"}));
}

CLI::Option* add_shard_option(CLI::App& command, SelectionOptions& selection) {
  CLI::Option* const shard =
      command.add_option("--shard", selection.shard, "Select every N-th case from the I-th on, such as 1/4")
          ->type_name(value_name::kShard);
  command
      .add_option("--balance", selection.balance,
                  "Select a shard that takes as long as the others, by the seconds in this run file")
      ->type_name(value_name::kRun)
      ->needs(shard);
  return shard;
}

namespace {

std::string worker_description(const std::string& description) {
  return description + ". Default: the suite's worker, or peakmark-bench next to peakmark";
}

}  // namespace

CLI::Option* add_worker_option(CLI::App& command, std::optional<std::string>& worker,
                               const std::string& description) {
  return command.add_option("--worker", worker, worker_description(description))
      ->type_name(value_name::kProgram);
}

void add_workers_option(CLI::App& command, std::vector<std::string>& workers,
                        const std::string& description) {
  repeatable(command.add_option("--worker", workers, worker_description(description)))
      ->type_name(value_name::kLabelledProgram);
}

CLI::Option* add_answer_limit_option(CLI::App& command, std::optional<double>& seconds) {
  return add_parsed_option(
             command, "--seconds",
             [&seconds](const std::string& text) {
               seconds = std::chrono::duration<double>(parse_seconds(text)).count();
             },
             fmt::format("Wait at most this long for an answer of an estimator. Default: {:g}, or `seconds` "
                         "of its [[estimator]]",
                         kEstimatorSeconds))
      ->type_name(value_name::kSeconds);
}

CLI::Option* add_frames_option(CLI::App& command, std::size_t& frames) {
  return command
      .add_option(
          "--frames", frames,
          "Name a call site by this many innermost frames, of Python and of the library it called, and "
          "your own line. Default: your own line, and what distinguishes it")
      ->type_name("NUMBER")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1000}));
}

CLI::Option* add_form_option(CLI::App& command, ExternalEstimator& estimator) {
  return command.add_option("--form", estimator.form, "Call the estimator in this form")
      ->type_name(fmt::format("{{{}}}", fmt::join(suite_words("estimator_form"), ",")))
      ->capture_default_str();
}

CLI::Option* add_python_option(CLI::App& command, ExternalEstimator& estimator,
                               const std::function<std::string()>& call) {
  return only_when(command.add_option("--python", estimator.python,
                                      "Call the estimator in this Python environment or interpreter, as a "
                                      "suite names it"),
                   "with an estimator python:…", [call] { return call().starts_with("python:"); })
      ->type_name("PYTHON");
}

CLI::Option* add_dimensions_option(CLI::App& command, ExternalEstimator& estimator) {
  return add_parsed_option(
             command, "--other-dimensions",
             [&estimator](const std::string& text) {
               estimator.other_dimensions.clear();
               std::istringstream formulas(text);
               for (std::string formula; std::getline(formulas, formula, ',');)
                 estimator.other_dimensions.emplace_back(formula);
               if (estimator.other_dimensions.size() != 2)
                 throw UsageError(fmt::format("'{}' is not two formulas of axes, such as ny,nx", text));
             },
             "Dimensions of the input besides the slices, as formulas of axes such as ny,nx. Default: the "
             "first two integer axes that are not the slices")
      ->type_name("FORMULA,FORMULA");
}

CLI::Option* add_history_option(CLI::App& command, std::string& history) {
  return command
      .add_option("--history", history,
                  "Use this SQLite file or postgresql://… URL. Default: $PEAKMARK_HISTORY")
      ->type_name(value_name::kHistory);
}

namespace {

void note_on_shared_file(const history::Address& address, history::History::Purpose purpose) {
  if (address.kind != history::Address::Kind::sqlite || purpose == history::History::Purpose::read) return;
  const std::string file_system = shared_file_system(address.file);
  if (file_system.empty()) return;
  print_message(
      stderr,
      "note: {} is on {}, where locks of other machines can be lost: write to it from one machine at "
      "a time, or use PostgreSQL\n",
      address.name(), file_system);
}

}  // namespace

std::string history_place(const std::string& option) {
  const char* const set = std::getenv("PEAKMARK_HISTORY");
  return option.empty() && set != nullptr ? set : option;
}

std::unique_ptr<history::History> open_history(const std::string& option, history::History::Purpose purpose) {
  const std::string place = history_place(option);
  if (place.empty()) {
    throw UsageError("no history: name a file or postgresql://… with --history, or set PEAKMARK_HISTORY");
  }
  auto opened = std::make_unique<history::History>(history::parse_address(place), purpose);
  note_on_shared_file(opened->address(), purpose);
  return opened;
}

std::string device_names(const std::vector<history::DeviceBackend>& devices) {
  std::string names;
  for (const history::DeviceBackend& one : devices)
    names += fmt::format("{}'{}' ({})", names.empty() ? "" : ", ", one.device, one.backend);
  return names;
}

std::vector<history::DeviceBackend> devices_named(history::History& history, const std::string& branch,
                                                  const std::string& name) {
  std::vector<history::DeviceBackend> known = history.devices(branch);
  if (name.empty()) return known;
  std::vector<history::DeviceBackend> devices = known;
  const std::string current = history.device_name(name);
  std::erase_if(devices, [&](const history::DeviceBackend& one) { return one.device != current; });
  if (devices.empty() && !known.empty())
    throw UsageError(fmt::format("--device '{}': not in this history; it has {}", name, device_names(known)));
  return devices;
}

std::optional<history::DeviceBackend> find_device(history::History& history, const RunContext& context) {
  const history::DeviceBackend device{history.device_name(context.filed_under()), context.backend};
  const std::vector<history::DeviceBackend> known = history.devices();
  return std::ranges::find(known, device) == known.end() ? std::nullopt : std::optional(device);
}

std::string parse_date_text(const std::string& text) {
  const auto date = parse_date(text);
  if (!date)
    throw UsageError(fmt::format("'{}' is not a date such as 2026-01-31 or 2026-01-31T02:00:00Z", text));
  return utc_date(date->moment);
}

}  // namespace peakmark::cli
