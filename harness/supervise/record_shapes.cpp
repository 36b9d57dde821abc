#include "supervise/record_shapes.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.hpp"
#include "supervise/run_context.hpp"

namespace peakmark {
namespace {

/// A variant whose shapes are being chosen.
struct Choosing {
  explicit Choosing(const ShapeRequest& request, const VariantDescription& description, bool of_program)
      : chooser(description, request.words, request.bounds),
        counts(shape_counts(description, of_program)),
        slow_counts(shape_counts(description, true)),
        is_program(of_program) {
    recorded.variant = request.variant;
    recorded.words = request.words;
  }

  ShapeChooser chooser;
  ShapeCounts counts;
  ShapeCounts slow_counts;  ///< where shapes take seconds, as those of a program do
  bool is_program;
  std::size_t tried_bases = 0;
  bool has_base = false;
  bool has_tried_fitted = false;  ///< shapes to be held out come after
  std::vector<Observation> fitted;
  std::vector<Observation> held_out;
  RecordedShapes recorded;
};

/// A shape that is recorded next.
struct NextShape {
  std::size_t choosing;
  Parameters shape;
  bool is_base;
  bool is_held_out;
};

// Programs take a second or more for a shape.
constexpr std::size_t kMaxRefusedOfProgram = 8;
constexpr std::size_t kMaxRefused = 60;

constexpr std::size_t kProbes = 3;

// The first shape has the start of the worker in its time. If it is slow, a few more show whether all are.
std::size_t wanted_for_fitting(Choosing& one, double slow_seconds) {
  const auto is_slow = [&](const Observation& observation) {
    return observation.seconds.value_or(0) > slow_seconds;
  };
  if (one.is_program || !is_slow(one.fitted.front())) return one.counts.fitted;
  if (one.fitted.size() <= kProbes) return 1 + kProbes;
  if (std::all_of(one.fitted.begin() + 1, one.fitted.begin() + 1 + kProbes, is_slow))
    one.counts = one.slow_counts;
  return one.counts.fitted;
}

std::vector<NextShape> next_shapes(std::vector<Choosing>& all, double slow_seconds) {
  std::vector<NextShape> next;
  for (std::size_t i = 0; i < all.size(); ++i) {
    Choosing& one = all[i];
    if (!one.has_base) {
      if (one.tried_bases < one.chooser.bases().size())
        next.push_back({i, one.chooser.bases()[one.tried_bases++], true, false});
      continue;
    }
    const std::size_t refused = one.recorded.refused.size();
    if (refused > (one.is_program ? kMaxRefusedOfProgram : kMaxRefused)) continue;
    const std::size_t wanted = wanted_for_fitting(one, slow_seconds);
    bool has_more = false;
    for (std::size_t have = one.fitted.size(); have < wanted; ++have) {
      auto shape = one.chooser.next_fitted();
      has_more = shape.has_value();
      if (shape) next.push_back({i, std::move(*shape), false, false});
    }
    if (wanted < one.counts.fitted && has_more) continue;
    if (std::exchange(one.has_tried_fitted, true) == false) continue;
    for (std::size_t have = one.held_out.size(); have < one.counts.held_out; ++have) {
      if (auto shape = one.chooser.next_held_out()) next.push_back({i, std::move(*shape), false, true});
    }
  }
  return next;
}

void take(Choosing& choosing, const NextShape& next, Observation observation) {
  if (observation.outcome != Outcome::ok || !observation.allocation_sequence) {
    choosing.recorded.refused.push_back(std::move(observation));
    return;
  }
  if (next.is_base) {
    choosing.chooser.set_base(next.shape);
    choosing.has_base = true;
  } else {
    choosing.chooser.accept(next.shape);
  }
  (next.is_held_out ? choosing.held_out : choosing.fitted).push_back(std::move(observation));
}

}  // namespace

ShapeRecorder::ShapeRecorder(SweepOptions options, bool times)
    : options_(std::move(options)), verifies_(times) {
  options_.run_file = folder_.path() / "run.json";
  options_.memory_only = !times;
  options_.sequences = !times;
  options_.reports_commands = false;  // no suite has the shapes
  workers_ = std::make_unique<RunWorkers>(options_, -1);
  const DeviceList devices = list_devices();
  const Description& description = workers_->description();
  if (!options_.selection.suites.empty()) {
    selection_ = select(options_.selection, description, devices);
    planned_ = std::exchange(selection_.planned, {});
    return;
  }
  DeviceChoice choice;
  choice.device = options_.selection.device;
  if (options_.selection.backend) choice.backend = parse_backend(*options_.selection.backend);
  selection_.device = choose_device(choice, devices);
  selection_.suite.vocabulary.description = description;
  selection_.suite.name = "shapes";
}

PlannedCase ShapeRecorder::planned_case(const VariantDescription& variant, const Parameters& shape) const {
  Parameters parameters = variant.defaults();
  for (const auto& [axis, value] : shape.values()) {
    check_axis_value(variant.known_axis(axis), value);
    parameters.set(axis, value);
  }
  PlannedCase planned;
  planned.sweep_case = {variant.name, std::string(to_string(selection_.device.backend)), parameters};
  planned.name = case_name(planned.sweep_case, variant);
  planned.place = "the shapes that were chosen";
  return planned;
}

std::vector<bool> ShapeRecorder::accepts(const VariantDescription& variant,
                                         const std::vector<Parameters>& shapes) const {
  std::vector<PlannedCase> cases;
  cases.reserve(shapes.size());
  for (const Parameters& shape : shapes) cases.push_back(planned_case(variant, shape));
  std::vector<bool> is_accepted;
  for (const std::string& mistake : workers_->mistakes(cases, -1)) is_accepted.push_back(mistake.empty());
  return is_accepted;
}

std::vector<Observation> ShapeRecorder::record(const std::string& variant,
                                               const std::vector<Parameters>& shapes) {
  std::vector<std::pair<std::string, Parameters>> all;
  all.reserve(shapes.size());
  for (const Parameters& shape : shapes) all.emplace_back(variant, shape);
  return record(all);
}

std::vector<Observation> ShapeRecorder::record(
    const std::vector<std::pair<std::string, Parameters>>& shapes) {
  const Description& description = vocabulary().description;
  std::vector<std::string> names;
  std::vector<PlannedCase> cases;
  std::map<std::string, Observation> found;
  for (const auto& [name, shape] : shapes) {
    PlannedCase planned = planned_case(description.known_variant(name), shape);
    names.push_back(planned.name);
    if (found.contains(planned.name)) continue;
    Observation& refused = found[planned.name];
    refused.case_name = planned.name;
    refused.axes = planned.sweep_case.parameters;
    refused.variant = name;
    refused.backend = planned.sweep_case.backend;
    refused.outcome = Outcome::unsupported;
    cases.push_back(std::move(planned));
  }
  const std::vector<std::string> mistakes = workers_->mistakes(cases, -1);
  std::vector<PlannedCase> accepted;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    found[cases[i].name].message = mistakes[i];
    if (mistakes[i].empty()) accepted.push_back(std::move(cases[i]));
  }
  if (!accepted.empty()) measure(std::move(accepted), found);
  std::vector<Observation> observations;
  observations.reserve(names.size());
  for (const std::string& name : names) observations.push_back(found.at(name));
  return observations;
}

void ShapeRecorder::measure(std::vector<PlannedCase> cases, std::map<std::string, Observation>& found) {
  selection_.planned = std::move(cases);
  RunJournal journal(options_.run_file);
  Measurement measurement(options_);
  const Description& description = workers_->description();
  journal.start(make_run_context(selection_, description, options_.memory_only));
  selection_.planned.clear();
  MeasuredSide side{"", options_, journal, selection_, workers_->calls(), {}, description.takes_blocks};
  // A verification takes longer than the passes.
  for (WorkerCall& worker : side.workers) {
    if (!verifies_) worker.arguments.emplace_back("--no-verify");
  }
  side.worker_of = [this](const PlannedCase& planned) { return workers_->index_of(planned); };
  measurement.run({side}, [&](Stop stop, std::chrono::seconds /*spent*/) {
    context_ = journal.run().context;
    for (const Observation& one : journal.run().observations) found[one.case_name] = one;
    journal.finish();
    if (stop == Stop::interrupted) throw Interrupted("interrupted while shapes were recorded");
    if (stop == Stop::deadline) throw DeadlineError("the deadline came while shapes were recorded");
  });
}

std::vector<RecordedShapes> ShapeRecorder::record_chosen(const std::vector<ShapeRequest>& requests,
                                                         double slow_seconds) {
  std::vector<Choosing> all;
  std::map<std::string, Parameters> bases;
  for (const ShapeRequest& request : requests) {
    const VariantDescription& variant = vocabulary().description.known_variant(request.variant);
    const bool is_program = vocabulary().program(request.variant) != nullptr;
    Choosing& choosing = all.emplace_back(request, variant, is_program);
    if (is_program) continue;  // only a run shows what it accepts
    // Sets of words of one variant mostly accept the same shapes.
    const ShapeChooser::Accepts is_accepted = [&](const std::vector<Parameters>& shapes) {
      return accepts(variant, shapes);
    };
    if (const auto known = bases.find(request.variant); known != bases.end()) {
      choosing.chooser.prefer_base(known->second);
    } else {
      choosing.chooser.find_base(is_accepted);
      bases.emplace(request.variant, choosing.chooser.bases().front());
    }
    choosing.chooser.fit_base_to_flags(is_accepted);
  }
  for (std::vector<NextShape> next = next_shapes(all, slow_seconds); !next.empty();
       next = next_shapes(all, slow_seconds)) {
    std::vector<std::pair<std::string, Parameters>> shapes;
    shapes.reserve(next.size());
    for (const NextShape& one : next) shapes.emplace_back(all[one.choosing].recorded.variant, one.shape);
    std::vector<Observation> observations = record(shapes);
    for (std::size_t i = 0; i < next.size(); ++i)
      take(all[next[i].choosing], next[i], std::move(observations[i]));
  }
  std::vector<RecordedShapes> recorded;
  for (Choosing& one : all) {
    // Where shapes to be held out were refused, others are.
    while (3 * one.held_out.size() + 2 < one.fitted.size()) {
      one.held_out.push_back(std::move(one.fitted.back()));
      one.fitted.pop_back();
    }
    one.recorded.observations = with_held_out(one.fitted, one.held_out);
    recorded.push_back(std::move(one.recorded));
  }
  return recorded;
}

}  // namespace peakmark
