#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/input_output.hpp"
#include "cli/options.hpp"
#include "explain/run_formulas.hpp"
#include "fit/report.hpp"
#include "supervise/record_shapes.hpp"
#include "sweep/nearest_word.hpp"

namespace peakmark::cli {
namespace {

/// No answer is larger: 2⁴⁰ elements along one axis are more than any device holds.
constexpr Size kMaxValue = Size{1} << 40;

struct FitOptions {
  std::vector<std::string> inputs;
  std::string budget;
  Size step = 1;
  std::optional<Size> slices;
  bool from_peaks = false;
  bool prove = false;
  bool all_intervals = false;
  bool json = false;
  SweepOptions sweep;
};

/// What the words of the command line ask for.
struct FitQuestion {
  std::string variant;
  std::string axis;
  std::optional<std::pair<Size, Size>> range;
  std::vector<std::string> fixed;  ///< AXIS=VALUE
};

std::optional<Size> parse_integer(std::string_view text) {
  Size value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  return read.ec == std::errc() && read.ptr == end ? std::optional(value) : std::nullopt;
}

/// Reads `32..4096`; nothing if it is no range.
std::optional<std::pair<Size, Size>> parse_range(const std::string& text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) return std::nullopt;
  const auto first = parse_integer(std::string_view(text).substr(0, dots));
  const auto last = parse_integer(std::string_view(text).substr(dots + 2));
  if (!first || !last || *first < 1 || *last < *first)
    throw UsageError(fmt::format("'{}' is not a range: write MIN..MAX, such as 32..4096", text));
  return std::pair{*first, *last};
}

FitQuestion parse_question(FitOptions& options) {
  FitQuestion question;
  const auto set_axis = [&](const std::string& name) {
    if (!question.axis.empty())
      throw UsageError(
          fmt::format("two axes to fit, '{}' and '{}': write values for all but one, such as {}=512",
                      question.axis, name, name));
    question.axis = name;
  };
  for (const std::string& text : options.inputs) {
    const std::size_t equals = text.find('=');
    if (std::filesystem::path(text).extension() == ".toml") {
      options.sweep.selection.suites.emplace_back(text);
    } else if (equals != std::string::npos && equals > 0) {
      if (const auto range = parse_range(text.substr(equals + 1))) {
        set_axis(text.substr(0, equals));
        question.range = range;
      } else {
        question.fixed.push_back(text);
      }
    } else if (is_variant_name(text)) {
      if (!question.variant.empty())
        throw UsageError(fmt::format("two variants, {} and {}: fit one", question.variant, text));
      question.variant = text;
    } else {
      set_axis(text);
    }
  }
  if (question.axis.empty()) throw UsageError("no axis to fit: write its name, or AXIS=MIN..MAX");
  return question;
}

/// Writes a suite of the program behind `--`, whose axes are those of the question.
void add_program(FitOptions& options, FitQuestion& question, const std::vector<std::string>& program,
                 const ScratchFolder& folder) {
  if (!question.variant.empty() || !options.sweep.selection.suites.empty())
    throw UsageError("a program behind -- is fitted alone: leave out the variant and the suite");
  const std::string placeholder = "{" + question.axis + "}";
  if (std::ranges::none_of(
          program, [&](const std::string& word) { return word.find(placeholder) != std::string::npos; }))
    throw UsageError(
        fmt::format("the program does not read the axis: write {} where its value belongs", placeholder));
  // Of `python -u train.py` the script.
  const bool is_python = std::filesystem::path(program.front()).filename().string().starts_with("python");
  const auto script = std::ranges::find_if(program.begin() + 1, program.end(),
                                           [](const std::string& word) { return !word.starts_with('-'); });
  std::string name = std::filesystem::path(is_python && script != program.end() ? *script : program.front())
                         .filename()
                         .string();
  std::ranges::replace_if(
      name, [](char c) { return !is_axis_name(std::string(1, c)); }, '_');
  question.variant = "program/" + name;
  // Strings of JSON are strings of TOML.
  const auto quoted = [](const std::string& text) { return nlohmann::json(text).dump(); };
  std::string suite = fmt::format("name = \"fit\"\n[[program]]\nvariant = {}\nsync = true\ncommand = {}\n",
                                  quoted(question.variant), nlohmann::json(program).dump());
  suite += fmt::format("axes.{} = {{ default = {}, least = 1 }}\n", quoted(question.axis),
                       question.range ? question.range->first : 1);
  for (const std::string& text : question.fixed) {
    const std::string value = text.substr(text.find('=') + 1);
    suite += fmt::format("axes.{} = {}\n", quoted(text.substr(0, text.find('='))),
                         parse_integer(value) ? value : quoted(value));
  }
  suite += fmt::format("[[sweep]]\nvariants = {}\n", quoted(question.variant));
  const std::filesystem::path path = folder.path() / "fit.toml";
  write_output_file(path, suite);
  options.sweep.selection.suites.push_back(path);
  options.from_peaks = true;
}

/// Reads `16GiB`, or `90%` of the device's memory.
Size parse_budget(const std::string& text, const DeviceInfo& device) {
  if (!text.ends_with('%')) return parse_size(text);
  const auto percent = parse_integer(std::string_view(text).substr(0, text.size() - 1));
  if (!percent || *percent < 1 || *percent > 100)
    throw UsageError(fmt::format("--budget: '{}' is not a percentage from 1% to 100%", text));
  if (!device.memory_bytes)
    throw UsageError(
        fmt::format("--budget: the memory of {} is unknown: write bytes, such as 16GiB", device.name));
  return *device.memory_bytes / 100 * *percent + *device.memory_bytes % 100 * *percent / 100;
}

class Fit {
 public:
  Fit(const FitOptions& options, const FitQuestion& question);
  ExitCode run();

 private:
  void find_formula();
  void set_range();
  void check_changes_memory(const LargestValueSearch& search) const;
  bool try_values(LargestValueSearch& search);
  Trial record(Size value, std::optional<Size> predicted);
  void plan();
  [[nodiscard]] std::optional<Size> bytes(Size value) const;

  const FitOptions& options_;
  const FitQuestion& question_;
  ShapeRecorder recorder_;
  const VariantDescription& variant_;
  Parameters axes_;  ///< all, with the fixed values
  std::optional<Expression> peak_;
  FitReport report_;
};

const VariantDescription& find_variant(const ShapeRecorder& recorder, const std::string& name) {
  const Description& description = recorder.vocabulary().description;
  if (name.empty())
    throw UsageError("no variant: name one, such as padding/coords1d, or write a program behind --");
  if (const VariantDescription* const variant = description.variant(name)) return *variant;
  throw UsageError(fmt::format("no variant '{}'{}", name, suggest_word(name, description.variant_names())));
}

Fit::Fit(const FitOptions& options, const FitQuestion& question)
    : options_(options),
      question_(question),
      recorder_(options.sweep),
      variant_(find_variant(recorder_, question.variant)),
      axes_(parse_parameters(variant_, question.fixed)) {
  const AxisDescription* const axis = variant_.axis(question.axis);
  if (axis == nullptr)
    throw UsageError(fmt::format("{} has no axis '{}'{}", variant_.name, question.axis,
                                 suggest_word(question.axis, variant_.axis_names())));
  if (!std::holds_alternative<Size>(axis->default_value))
    throw UsageError(fmt::format("axis '{}' of {} has words, not integers", axis->name, variant_.name));
  report_.variant = variant_.name;
  report_.backend = to_string(recorder_.device().backend);
  report_.device = recorder_.device().name;
  report_.axis = question.axis;
  for (const auto& [name, value] : axes_.values()) {
    if (name != question.axis) report_.fixed.emplace_back(name, to_text(value));
  }
  report_.budget_bytes = parse_budget(options.budget, recorder_.device());
}

/// Returns the predicted peak at a value; nothing where the formula does not hold.
std::optional<Size> Fit::bytes(Size value) const {
  try {
    return peak_->evaluate([&](const std::string& axis) {
      if (axis == question_.axis) return value;
      // The name of an allocation without a formula stands for its bytes.
      return axes_.find(axis) == nullptr ? Size{0} : axes_.integer(axis);
    });
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Explains the variant with its words as they are fixed.
void Fit::find_formula() {
  std::vector<std::pair<std::string, AxisValue>> words;
  std::map<std::string, AxisBounds> bounds;
  for (const auto& [axis, value] : axes_.values()) {
    if (std::holds_alternative<std::string>(value)) words.emplace_back(axis, value);
    // 0 often means something else than a small number: no chunks, no region.
    if (value == AxisValue(Size{0})) bounds[axis] = {0, 0};
  }
  Run run;
  for (RecordedShapes& shapes :
       recorder_.record_chosen({{variant_.name, Parameters(std::move(words)), bounds}}))
    std::ranges::move(shapes.observations, std::back_inserter(run.observations));
  const std::size_t shapes = run.observations.size();
  if (run.observations.empty()) {
    report_.notes.emplace_back(
        "no small shape could be recorded; peaks were extrapolated instead of a formula");
    return;
  }
  std::vector<std::string> unknown;
  for (const VariantFormulas& formulas : explain_cases(group_cases(run))) {
    const Explanation& explanation = formulas.explanation;
    peak_ = explanation.peak();
    if (peak_) continue;
    Explanation partial;
    partial.moments = explanation.partial_moments;
    peak_ = partial.peak();
    for (const std::string& name : peak_ ? peak_->axes() : std::vector<std::string>()) {
      if (axes_.find(name) == nullptr) unknown.push_back(name);
    }
  }
  if (!peak_) {
    report_.notes.push_back(fmt::format(
        "no formula of the peak was found in {}; peaks were extrapolated. `peakmark explain {}` shows why",
        quantity(shapes, "small shape"), variant_.name));
    return;
  }
  report_.formula = to_text(*peak_, ExpressionStyle::display);
  if (unknown.empty()) {
    report_.notes.push_back(fmt::format("the formula is exact on {}", quantity(shapes, "small shape")));
  } else {
    report_.notes.push_back(
        fmt::format("no formula of {}: predictions have the bytes of the nearest trial for it",
                    fmt::join(unknown, ", ")));
  }
}

void Fit::set_range() {
  SearchRange& range = report_.range;
  range.step = options_.step;
  const Size least = std::max<Size>(variant_.axis(question_.axis)->least, 1);
  range.min = divide_up(question_.range ? question_.range->first : least, range.step) * range.step;
  report_.is_range_given = question_.range.has_value();
  if (question_.range) {
    range.max = question_.range->second;
    if (range.max < range.min)
      throw UsageError(
          fmt::format("no multiple of {} in {}..{}", range.step, question_.range->first, range.max));
    return;
  }
  range.max = *SearchRange{range.min, kMaxValue, range.step}.at_most(kMaxValue);
  if (!peak_) return;
  // Up to four doublings beyond the first value that does not fit: memory may decrease again.
  int beyond = 0;
  for (Size value = range.min; value <= kMaxValue / 2 && beyond < 4; value *= 2) {
    const std::optional<Size> predicted = bytes(value);
    beyond = predicted && *predicted <= report_.budget_bytes ? 0 : beyond + 1;
    if (beyond == 4) range.max = *range.at_most(value);
  }
}

void Fit::check_changes_memory(const LargestValueSearch& search) const {
  if (report_.is_range_given) return;
  const auto& trials = search.trials();
  const bool is_same = trials.size() >= 2 && std::ranges::all_of(trials, [&](const Trial& trial) {
                         return trial.peak_bytes && trial.peak_bytes == trials.front().peak_bytes;
                       });
  const std::optional<Size> at_min = peak_ ? bytes(report_.range.min) : std::nullopt;
  if (is_same || (at_min && at_min == bytes(report_.range.max)))
    throw UsageError(
        fmt::format("axis '{}' does not change the memory of {}: every value fits, or none. Write "
                    "{}=MIN..MAX to try the largest",
                    question_.axis, variant_.name, question_.axis));
}

Trial Fit::record(Size value, std::optional<Size> predicted) {
  Parameters shape = axes_;
  shape.set(question_.axis, value);
  const Observation observation = recorder_.record(variant_.name, {shape}).front();
  Trial trial{value, std::nullopt, predicted, std::string(to_string(observation.outcome)),
              observation.message};
  if (observation.outcome == Outcome::ok) {
    trial.peak_bytes = observation.requested_peak_bytes;
    if (!trial.peak_bytes)
      throw MeasurementError(fmt::format("{}={}: no memory was recorded", question_.axis, value));
  }
  return trial;
}

/// Returns whether all values could be measured.
bool Fit::try_values(LargestValueSearch& search) {
  if (options_.prove) search.require_proof();
  bool is_measured = true;
  while (const std::optional<Size> value = search.next()) {
    check_changes_memory(search);
    search.add(record(*value, search.predict(*value)));
    const Trial& trial = search.trials().back();
    if (trial.outcome == "ok" || trial.outcome == "out_of_memory") continue;
    report_.notes.push_back(
        fmt::format("{}={}: {}: {}", question_.axis, *value, trial.outcome, trial.message));
    if (trial.outcome == "unsupported") continue;
    is_measured = false;
    break;
  }
  report_.trials = search.trials();
  report_.value = search.largest();
  return is_measured;
}

/// Adds what follows from the answer.
void Fit::plan() {
  if (!report_.value || !options_.slices) return;
  report_.chunks = plan_chunks(*options_.slices, *report_.value);
  if (peak_) report_.last_chunk_bytes = bytes(report_.chunks->last_slices);
}

ExitCode Fit::run() {
  if (!options_.from_peaks) find_formula();
  set_range();
  PredictedBytes formula;
  if (peak_) {
    formula = [this](Size value) { return bytes(value); };
    report_.intervals = fitting_intervals(report_.range, report_.budget_bytes, formula);
  }
  LargestValueSearch search(report_.range, report_.budget_bytes, formula);
  const bool is_measured = try_values(search);
  if (report_.value) {
    const Size above = *report_.value + report_.range.step;
    report_.is_proven =
        above > report_.range.max ||
        std::ranges::any_of(report_.trials, [&](const Trial& trial) { return trial.value == above; });
  }
  if (search.is_decreasing_somewhere())
    report_.notes.emplace_back("the peak decreases where the axis grows: larger values may fit as well");
  plan();
  print_text(options_.json ? fit_json(report_) : fit_text(report_, options_.all_intervals));
  if (!is_measured) return ExitCode::measurement;
  return report_.value ? ExitCode::clean : ExitCode::verdict;
}

}  // namespace

void add_fit_command(CLI::App& app, Result& result) {
  const auto options = std::make_shared<FitOptions>();
  CLI::App* const command = app.add_subcommand("fit", "Find the largest value of an axis that fits a budget");
  command
      ->add_option("INPUT", options->inputs,
                   "A variant or a suite and its program; the axis, or AXIS=MIN..MAX; AXIS=VALUE for others")
      ->required();
  command->add_option("--budget", options->budget, "Device memory to stay within, such as 16GiB or 90%")
      ->type_name(value_name::kSize)
      ->required();
  command->add_option("--multiple-of", options->step, "Try multiples of this value only")
      ->type_name("INT")
      ->check(CLI::PositiveNumber);
  command->add_option("--slices", options->slices, "Plan chunks for a stack of this many slices")
      ->type_name("INT")
      ->check(CLI::PositiveNumber);
  command->add_flag("--from-peaks", options->from_peaks,
                    "Extrapolate recorded peaks instead of finding a formula in small shapes");
  command->add_flag("--prove", options->prove, "Run the value above the answer too");
  command->add_flag("--all", options->all_intervals,
                    "List all intervals that fit, if memory is not monotonic");
  command->add_option("--backend", options->sweep.selection.backend, "Run on this backend")
      ->type_name(value_name::kBackend);
  command
      ->add_option("--device", options->sweep.selection.device,
                   "Run on this device: its index or a part of its name")
      ->type_name(value_name::kDevice);
  command
      ->add_option("--worker", options->sweep.worker,
                   "Use the variants of this worker. Default: peakmark-bench")
      ->type_name(value_name::kProgram);
  add_timeout_option(*command, options->sweep.case_limit);
  command->add_flag("--json", options->json, "Print the answer as JSON");
  set_help(*command,
           {.notes = {"`peakmark fit AXIS=MIN..MAX --budget SIZE -- PROGRAM … {AXIS} …` fits an axis of "
                      "any program."},
            .exit_codes = {{"0", "the printed value ran within the budget"},
                           {"1", "nothing fits"},
                           {"2", "wrong usage"},
                           {"3", "a trial crashed, hung or was wrong"}}});
  command->callback([options, &result] {
    FitQuestion question = parse_question(*options);
    const ScratchFolder folder;
    const auto dashes = std::ranges::find(result.words, "--");
    if (dashes != result.words.end())
      add_program(*options, question, std::vector<std::string>(dashes + 1, result.words.end()), folder);
    result.code = Fit(*options, question).run();
  });
}

}  // namespace peakmark::cli
