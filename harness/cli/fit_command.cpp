#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analyse/fit/fit_axis.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/command_words.hpp"
#include "cli/help.hpp"
#include "cli/input_output.hpp"
#include "cli/options.hpp"
#include "cli/python_reports.hpp"
#include "measure/supervise/run_workers.hpp"
#include "measure/sweep/parameters.hpp"

namespace peakmark::cli {
namespace {

struct FitOptions {
  std::vector<std::string> inputs;
  FitRequest request;
  std::optional<MemoryBudget> budget;
  std::vector<std::string> devices;
  bool all_intervals = false;
  std::string plot;
  bool json = false;
};

/// Throws UsageError if `part` of the values of the fitted axis is no integer, but a number.
void refuse_float(const std::string& text, std::string_view part) {
  if (part.find_first_of(".eE") == std::string_view::npos || !parse_float(part)) return;
  throw UsageError(fmt::format("'{}' has floating-point numbers, and fit takes an axis of integers", text));
}

/// Reads `32..4096`; null if it is not a range.
std::optional<std::pair<Size, Size>> parse_range(const std::string& text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) return std::nullopt;
  refuse_float(text, text.substr(0, dots));
  refuse_float(text, text.substr(dots + 2, text.find(':', dots) - dots - 2));
  const auto first = parse_number<Size>(text.substr(0, dots));
  const auto last = parse_number<Size>(text.substr(dots + 2));
  if (!first || !last || *first < 1 || *last < *first)
    throw UsageError(
        fmt::format("'{}' is not a range: write MIN..MAX, such as 32..4096, of at most 2^40", text));
  return std::pair(*first, *last);
}

/// Reads `1,2,4,8`; empty if it is not a list of integers.
std::vector<Size> parse_list(const std::string& text) {
  if (text.find(',') == std::string::npos) return {};
  std::vector<Size> values;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto value = parse_number<Size>(text.substr(begin, end - begin));
    refuse_float(text, text.substr(begin, end - begin));
    if (!value) return {};
    if (*value < 1) throw UsageError(fmt::format("'{}' has {}: write values of 1 or more", text, *value));
    values.push_back(*value);
    begin = end + 1;
  }
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()),
               values.end());  // clang 14 cannot compile std::ranges::unique
  return values;
}

/// Sets the request from the words. The first axis without a value is fitted, at values of the second.
void set_request(FitOptions& options) {
  FitRequest& request = options.request;
  std::vector<FreeAxis> free;
  for (const std::string& text : options.inputs) {
    const std::size_t equals = text.find('=');
    if (std::filesystem::path(text).extension() == ".toml") {
      request.sweep.selection.suites.emplace_back(text);
    } else if (equals != std::string::npos && equals > 0) {
      const std::string name = text.substr(0, equals);
      const std::string values = text.substr(equals + 1);
      if (const std::vector<Size> list = parse_list(values); !list.empty())
        free.push_back({name, std::pair(list.front(), list.back()), list});
      else if (const auto range = parse_range(values))
        free.push_back({name, range});
      else
        request.values.push_back(text);
    } else if (is_variant_name(text)) {
      if (!request.variant.empty())
        throw UsageError(fmt::format("two variants, {} and {}: fit one", request.variant, text));
      request.variant = text;
    } else {
      free.push_back({text, std::nullopt});
    }
  }
  if (free.empty()) throw UsageError("no axis to fit: write its name, or AXIS=MIN..MAX");
  if (free.size() > 2)
    throw UsageError(fmt::format("three axes without a value, '{}', '{}' and '{}': write {}=VALUE",
                                 free[0].name, free[1].name, free[2].name, free[2].name));
  if (request.step != 1 && !free[0].list.empty())
    throw UsageError(fmt::format(
        "--multiple-of: {} has a list of values; leave out the values that are not multiples", free[0].name));
  request.axis = free[0];
  if (free.size() == 2) request.other = free[1];
}

/// Returns the devices of the backend, those with the most free memory (or, if unknown, the most memory)
/// first.
std::vector<std::string> all_devices(const SelectionOptions& selection) {
  const DeviceList list = list_devices();
  DeviceChoice choice;
  if (selection.backend) choice.backend = parse_backend(*selection.backend);
  const Backend backend = choose_device(choice, list).backend;
  std::vector<std::pair<Size, std::string>> found;
  for (const DeviceInfo& device : list.devices) {
    if (device.backend != backend) continue;
    const Size memory = open_device(device)->memory().free_bytes.value_or(device.memory_bytes.value_or(0));
    found.emplace_back(memory, std::to_string(device.index));
  }
  std::ranges::stable_sort(found, std::ranges::greater(), &std::pair<Size, std::string>::first);
  std::vector<std::string> names;
  names.reserve(found.size());
  for (const auto& [memory, name] : found) names.push_back(name);
  return names;
}

/// Fits on one device, or on each of several.
std::vector<FitReport> fit_on_devices(FitOptions& options) {
  SelectionOptions& selection = options.request.sweep.selection;
  if (options.devices == std::vector<std::string>{"all"}) options.devices = all_devices(selection);
  if (options.devices.size() < 2) {
    if (!options.devices.empty()) selection.device = options.devices.front();
    return AxisFitter(options.request).fit();
  }
  if (options.request.other || !options.plot.empty())
    throw UsageError("several devices need one free axis, and no --plot");
  std::vector<FitReport> reports;
  for (const std::string& device : options.devices) {
    selection.device = device;
    reports.push_back(AxisFitter(options.request).fit().front());
  }
  return reports;
}

void print_reports(const FitOptions& options, const std::vector<FitReport>& reports) {
  const std::optional<FreeAxis>& other = options.request.other;
  if (other) {
    print_text(options.json ? fit_json(reports, other->name) : fit_text(reports, other->name));
  } else if (options.json) {
    print_text(reports.size() > 1 ? fit_json_of_devices(reports) : fit_json(reports.front()));
  } else {
    for (const FitReport& report : reports) print_text(fit_text(report, options.all_intervals));
  }
}

void check_plot(const FitOptions& options) {
  if (options.plot.empty()) return;
  if (options.request.other)
    throw UsageError(fmt::format("--plot draws one fit: write {}=VALUE", options.request.other->name));
  check_plot_file(options.plot);
  remove_earlier_outputs({options.plot}, options.request.sweep.selection.suites);
}

ExitCode fit(FitOptions& options, const std::vector<std::string>& words) {
  set_request(options);
  FitRequest& request = options.request;
  request.budget = *options.budget;
  const ScratchFolder folder;
  if (const auto program = program_after_dashes(words)) {
    if (!request.variant.empty() || !request.sweep.selection.suites.empty())
      throw UsageError("a program after -- cannot be combined with a variant and a suite: leave these out");
    if (program->empty()) throw UsageError("no program after --");
    request.command = *program;
    use_program(request, folder);
  }
  check_plot(options);
  if (!request.variant.empty() && request.command.empty()) find_worker_here(request.sweep, {request.variant});
  const std::vector<FitReport> reports = fit_on_devices(options);
  print_reports(options, reports);
  if (!options.plot.empty()) {
    const int code = run_python_reports({"fit", "--output=" + options.plot}, fit_json(reports.front()));
    if (code != 0) return static_cast<ExitCode>(code);
  }
  if (std::ranges::any_of(reports, &FitReport::is_stopped)) return ExitCode::measurement;
  const bool fits =
      std::ranges::any_of(reports, [](const FitReport& report) { return report.value.has_value(); });
  return fits ? ExitCode::clean : ExitCode::verdict;
}

}  // namespace

void add_fit_command(CLI::App& app, Result& result) {
  const auto options = std::make_shared<FitOptions>();
  FitRequest& request = options->request;
  SelectionOptions& selection = request.sweep.selection;
  CLI::App* const command = app.add_subcommand("fit", "Find the largest value of an axis that fits a budget");
  command
      ->add_option(
          "INPUT", options->inputs,
          "A variant, or a suite and its program; the axis, AXIS=MIN..MAX or AXIS=1,2,4; AXIS=VALUE or "
          "AXIS=FORMULA for others. A second axis without a value: fit the first at several of its values")
      ->required();
  add_budget_option(*command, options->budget, "Device memory to stay within, such as 16GiB, 90% or free")
      ->required();
  add_max_allocation_option(*command, request.sweep.max_allocation);
  command->add_option("--multiple-of", request.step, "Try only multiples of this value")
      ->type_name("INT")
      ->check(CLI::Range(Size{1}, Size{1} << 40));
  command->add_option("--slices", request.slices, "Plan chunks for a stack of this many slices")
      ->type_name("INT")
      ->check(CLI::Range(Size{1}, Size{1} << 40));
  add_parsed_option(
      *command, "--predict",
      [&request](const std::string& text) { request.predictor = parse_predictor(text); },
      "Predict by a formula found in small shapes, by the estimator, or by the peaks of small values. "
      "Default: the first that there is; the estimator or peaks for programs")
      ->type_name("{formula,estimator,recordings}");
  command
      ->add_option_function<std::string>(
          "--objective",
          [&request](const std::string& text) { request.wants_throughput = text == "throughput"; },
          "Find the largest value, or the one with most items (the value of the axis) per second")
      ->check(CLI::IsMember({"largest", "throughput"}))
      ->type_name("{largest,throughput}")
      ->default_str("largest");
  command->add_flag("--prove", request.needs_proof, "Run the value above the answer too");
  CLI::Option* const all = command->add_flag("--all", options->all_intervals,
                                             "List all intervals that fit, if memory is not monotonic");
  command->add_option("--backend", selection.backend, "Run on this backend")->type_name(value_name::kBackend);
  command
      ->add_option("--device", options->devices,
                   "Run on this device: its index or a part of its name. Several, or all: an answer for each")
      ->type_name(value_name::kDevice)
      ->allow_extra_args(false);
  add_worker_option(*command, request.sweep.worker);
  add_timeout_option(*command, request.sweep.case_limit);
  add_file_option(
      *command, "--plot", options->plot,
      "Draw memory against the axis with budget, predictions and trials: a .png, .svg or .pdf file");
  command->add_flag("--json", options->json, "Print the answer as JSON, with all intervals")->excludes(all);
  set_help(*command,
           {.notes = {"`peakmark fit AXIS=MIN..MAX --budget SIZE -- PROGRAM … {AXIS} …` fits an axis of "
                      "any program."},
            .exit_codes = {{"0", "the printed value ran within the budget"},
                           {"1", "nothing fits"},
                           {"2", "wrong usage, or the axis does not change the memory"},
                           {"3", "a trial crashed, hung or was wrong"}}});
  command->callback([options, &result] { result.code = fit(*options, result.words); });
}

}  // namespace peakmark::cli
