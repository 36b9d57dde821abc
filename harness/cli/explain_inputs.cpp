#include "cli/explain_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "base/pattern.hpp"
#include "base/program.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/input_output.hpp"
#include "measure/runfile/run_file.hpp"
#include "measure/supervise/record_shapes.hpp"
#include "measure/sweep/choose_shapes.hpp"
#include "measure/sweep/nearest_word.hpp"
#include "record/ledger/ledger.hpp"
#include "record/show/process_tree.hpp"
#include "record/show/recorded_sequence.hpp"

namespace peakmark::cli {
namespace {

// ---- chosen shapes

bool has_words(const Parameters& words, const AxisTexts& values) {
  return std::ranges::all_of(values, [&](const auto& one) {
    const AxisValue* const value = words.find(one.first);
    return value == nullptr || is_value(*value, one.second);
  });
}

/// Sets the floating-point axes, of which word_sets() knows only the defaults.
void set_floats(Parameters& words, const VariantDescription& variant, const AxisTexts& values) {
  for (const auto& [axis, text] : values) {
    const AxisValue value = parse_axis_value(variant.known_axis(axis), text);
    if (std::holds_alternative<double>(value)) words.set(axis, value);
  }
}

/// Returns the case of a suite with these words that has the most elements. Null if there is none.
std::optional<Parameters> largest_planned(const std::string& variant, const Parameters& words,
                                          const AxisTexts& values, const std::vector<PlannedCase>& planned) {
  std::optional<Parameters> largest;
  double elements = 0;
  for (const PlannedCase& one : planned) {
    const Parameters& shape = one.sweep_case.parameters;
    if (one.sweep_case.variant != variant || choice_axes(shape) != words || !has_words(shape, values))
      continue;
    if (element_count(shape) <= elements) continue;
    elements = element_count(shape);
    largest = shape;
  }
  return largest;
}

/// Adds a request for each requested set of words of a variant.
void add_requests(std::vector<ShapeRequest>& requests, const VariantDescription& variant,
                  const std::vector<Parameters>& words, const AxisTexts& values,
                  const std::vector<PlannedCase>& planned) {
  std::map<std::string, AxisBounds> bounds;
  for (const auto& [axis, text] : values) {
    const AxisValue value = parse_axis_value(variant.known_axis(axis), text);
    if (const Size* const integer = std::get_if<Size>(&value)) bounds[axis] = {*integer, *integer};
  }
  for (const Parameters& set : words) {
    if (has_words(set, values))
      requests.push_back({variant.name, set, bounds, largest_planned(variant.name, set, values, planned)});
  }
}

/// Records shapes on the plotted curves, because few of the chosen ones are on them.
void record_curves(ShapeRecorder& recorder, Run& run, const CurveOptions& curve) {
  std::vector<std::pair<std::string, Parameters>> shapes;
  for (const RecordedCases& cases : group_cases(run)) {
    for (Parameters& shape : shapes_on_curve(cases, curve))
      shapes.emplace_back(cases.variant, std::move(shape));
  }
  if (shapes.empty()) return;
  for (Observation& observation : recorder.record(shapes)) {
    if (observation.outcome == Outcome::ok && observation.allocation_sequence)
      run.observations.push_back(std::move(observation));
  }
}

/// Records shapes of the variants that the user names, or of all variants and words in suites.
Run record_shapes(const ExplainInputs& inputs, SweepOptions sweep, const ShapeEffort& effort,
                  const CurveOptions* curve) {
  sweep.selection.suites = inputs.suites;
  ShapeRecorder recorder(sweep);
  const Description& description = recorder.vocabulary().description;
  std::vector<ShapeRequest> requests;
  for (const std::string& name : inputs.variants) {
    const VariantDescription& variant = description.known_variant(name);
    std::vector<Parameters> words = word_sets(variant);
    for (Parameters& set : words) set_floats(set, variant, inputs.values);
    add_requests(requests, variant, words, inputs.values, {});
  }
  if (inputs.variants.empty()) {
    std::map<std::string, std::vector<Parameters>> planned;
    for (const PlannedCase& one : recorder.planned()) {
      auto& sets = planned[one.sweep_case.variant];
      Parameters words = choice_axes(one.sweep_case.parameters);
      if (std::ranges::find(sets, words) == sets.end()) sets.push_back(std::move(words));
    }
    for (const auto& [name, sets] : planned)
      add_requests(requests, *description.variant(name), sets, inputs.values, recorder.planned());
  }
  if (requests.empty()) throw UsageError("no case has all these values: correct AXIS=VALUE");
  Run run;
  std::map<std::string, std::pair<std::size_t, std::string>> refused;  // for each variant: how many, and why
  for (RecordedShapes& shapes : recorder.record_chosen(requests, effort)) {
    if (!shapes.refused.empty()) {
      auto& [count, reason] = refused[shapes.variant];
      count += shapes.refused.size();
      const Observation& first = shapes.refused.front();
      if (reason.empty()) reason = first.message.empty() ? to_string(first.outcome) : first.message;
    }
    std::ranges::move(shapes.observations, std::back_inserter(run.observations));
  }
  if (run.observations.empty()) {
    const auto& [variant, why] = *refused.begin();
    throw DeviceError(fmt::format("no shape was recorded; {}: {}", variant, why.second));
  }
  for (const auto& [variant, why] : refused)
    print_message(stderr, "{}: {} refused or failed; the first: {}\n", variant,
                  quantity(why.first, "shape was", "shapes were"), why.second);
  if (curve != nullptr) record_curves(recorder, run, *curve);
  run.context = recorder.context();
  return run;
}

// ---- run files

/// Keeps the cases of these variants, or of all if there are none, that match the filter.
void keep_chosen_cases(Run& run, const std::vector<std::string>& variants,
                       const std::optional<std::string>& filter) {
  std::set<std::string> known;
  for (const Observation& one : run.observations) known.insert(one.variant);
  for (const std::string& variant : variants) {
    if (!known.contains(variant))
      throw UsageError(fmt::format("the run has no cases of the variant '{}'{}", variant,
                                   suggest_word(variant, {known.begin(), known.end()})));
  }
  const std::set<std::string> wanted(variants.begin(), variants.end());
  if (!wanted.empty())
    std::erase_if(run.observations, [&](const Observation& one) { return !wanted.contains(one.variant); });
  if (!filter) return;
  const Pattern pattern(*filter);
  const std::size_t all = run.observations.size();
  std::erase_if(run.observations, [&](const Observation& one) { return !pattern.is_in(one.case_name); });
  if (std::ranges::none_of(run.observations,
                           [](const Observation& one) { return one.allocation_sequence.has_value(); }))
    throw UsageError(
        fmt::format("--filter '{}' leaves none of {} that can be explained", *filter, quantity(all, "case")));
}

// ---- profiles

Observation read_profile(const ExplainInputs::Profile& profile, RunContext& context) {
  RecordedTree tree = read_tree(profile.path);
  if (const std::string note = keep_one_device(tree); !note.empty())
    print_message(stderr, "{}: {}\n", profile.path.string(), note);
  const ProfileHeader& header = tree.processes.front().header;
  Observation observation;
  observation.case_name = profile.path.string();
  observation.variant = "program/" + program_name(tree.processes.front().command_line);
  observation.backend = std::string_view(header.recorder).starts_with("cupti") ? "cuda" : "opencl";
  std::vector<std::pair<std::string, AxisValue>> axes;
  for (const auto& [axis, text] : profile.axes) {
    const auto integer = parse_number<Size>(text);
    const auto number = parse_float(text);
    axes.emplace_back(axis, integer ? AxisValue(*integer) : number ? AxisValue(*number) : AxisValue(text));
  }
  observation.axes = Parameters(std::move(axes));
  observation.allocation_sequence = recorded_sequence(tree);
  observation.requested_peak_bytes = summarise_together(tree).peak_bytes;
  if (context.date.empty()) {
    const std::chrono::nanoseconds started(header.start_realtime_ns);
    context.date = utc_date(std::chrono::system_clock::time_point(
        std::chrono::duration_cast<std::chrono::system_clock::duration>(started)));
    context.worker = header.recorder;
    context.backend = observation.backend;
  }
  return observation;
}

/// Sorts the axes of a profile like those of the first. Throws UsageError if they differ, or are given twice.
AxisTexts ordered_axes(const ExplainInputs::Profile& profile, const ExplainInputs::Profile& first) {
  AxisTexts ordered;
  for (const auto& [axis, unused] : first.axes) {
    const auto same = std::ranges::find(profile.axes, axis, &AxisTexts::value_type::first);
    if (same != profile.axes.end()) ordered.push_back(*same);
  }
  if (ordered.size() != profile.axes.size() || ordered.size() != first.axes.size())
    throw UsageError(
        fmt::format("{}: other axes than {}: write a value of the same axes, once, after each profile",
                    profile.path.string(), first.path.string()));
  return ordered;
}

Run read_profiles(const ExplainInputs& inputs) {
  Run run;
  run.observations.reserve(inputs.profiles.size());
  for (ExplainInputs::Profile profile : inputs.profiles) {
    if (profile.axes.empty())
      throw UsageError(
          fmt::format("{}: its shape is missing: write the values of axes after it, such as {} nx=512",
                      profile.path.string(), profile.path.string()));
    profile.axes = ordered_axes(profile, inputs.profiles.front());
    profile.axes.insert(profile.axes.end(), inputs.values.begin(), inputs.values.end());
    run.observations.push_back(read_profile(profile, run.context));
  }
  return run;
}

}  // namespace

ExplainInputs split_inputs(const std::vector<std::string>& texts) {
  ExplainInputs inputs;
  for (const std::string& text : texts) {
    const std::filesystem::path path(text);
    if (text.find('=') != std::string::npos && !std::filesystem::exists(path)) {
      (inputs.profiles.empty() ? inputs.values : inputs.profiles.back().axes)
          .push_back(split_key_value(text));
    } else if (path.extension() == ".toml") {
      inputs.suites.push_back(path);
    } else if (is_variant_name(text) && !std::filesystem::exists(path) && path.extension() != ".json" &&
               path.extension() != ".profile") {
      inputs.variants.push_back(text);
    } else if (is_profile(path)) {
      inputs.profiles.push_back({path, {}});
    } else if (path.extension() == ".json" || contents(path) == FileContents::run) {
      inputs.runs.push_back(path);
    } else {
      throw UsageError(fmt::format(
          "{}: neither a file nor the name of a variant, such as padding/coords1d: correct it", text));
    }
  }
  const bool is_recorded = !inputs.suites.empty() || !inputs.variants.empty();
  if (inputs.runs.empty() && inputs.profiles.empty() && !is_recorded)
    throw UsageError("nothing to explain: write a run file, profiles and their axes, a suite or a variant");
  if (!inputs.runs.empty() && !inputs.suites.empty())
    throw UsageError("a run file cannot be combined with a suite: leave out one of them");
  if (!inputs.profiles.empty() && (!inputs.runs.empty() || is_recorded))
    throw UsageError("profiles cannot be combined with run files, suites and variants: leave these out");
  if (inputs.runs.size() > 2) throw UsageError("too many run files: write one, or two to see what changed");
  return inputs;
}

Run read_cases(const std::filesystem::path& run_file, const ExplainInputs& inputs,
               const std::optional<std::string>& filter) {
  if (const std::string warning = later_run_warning(run_file); !warning.empty())
    print_message(stderr, "warning: {}\n", warning);
  Run run = read_run(run_file);
  keep_explained_cases(run, inputs.values);
  keep_chosen_cases(run, inputs.variants, filter);
  return run;
}

Run read_or_record(const ExplainInputs& inputs, SweepOptions sweep, const ShapeEffort& effort,
                   const CurveOptions* curve) {
  if (!inputs.profiles.empty()) return read_profiles(inputs);
  if (!inputs.runs.empty()) return read_cases(inputs.runs.front(), inputs, sweep.selection.filter);
  Run run = record_shapes(inputs, std::move(sweep), effort, curve);
  keep_explained_cases(run, inputs.values);
  return run;
}

}  // namespace peakmark::cli
