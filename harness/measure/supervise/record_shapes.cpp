#include "measure/supervise/record_shapes.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "measure/supervise/run_context.hpp"

namespace peakmark {
namespace {

using Clock = std::chrono::steady_clock;

/// A variant whose shapes are being chosen.
struct Choosing {
  Choosing(const ShapeRequest& request, const VariantDescription& description, bool of_program,
           const ShapeEffort& effort)
      : chooser(description, request.words, request.bounds),
        counts(effort.shapes ? shape_counts(*effort.shapes) : shape_counts(description, of_program)),
        slow_counts(effort.shapes ? counts : shape_counts(description, true)),
        is_program(of_program),
        largest(request.largest) {
    recorded.variant = request.variant;
    recorded.words = request.words;
  }

  ShapeChooser chooser;
  ShapeCounts counts;
  ShapeCounts slow_counts;  ///< if shapes take seconds, like those of a program
  bool is_program;
  bool is_slow = is_program;
  std::optional<Parameters> largest;
  std::size_t tried_bases = 0;
  bool has_base = false;
  bool has_probed = false;        ///< `counts` are final
  bool has_tried_fitted = false;  ///< held-out shapes come next
  std::vector<Observation> fitted;
  std::optional<LargerShapes> larger;
  bool has_larger = false;            ///< there are no more larger shapes
  std::vector<Observation> held_out;  ///< the larger ones first
  RecordedShapes recorded;
};

/// The next shape to record.
struct NextShape {
  enum class Kind : std::uint8_t { base, fitted, larger, held_out };
  std::size_t choosing;
  Parameters shape;
  Kind kind;
};

// Programs take a second or more per shape.
constexpr std::size_t kMaxRefusedOfProgram = 8;
constexpr std::size_t kMaxRefused = 60;

constexpr std::size_t kProbes = 3;

constexpr Size kMaxGrownBytes = Size{1} << 30;
constexpr double kMaxGrownSeconds = 5;
constexpr double kMaxWantedSeconds = 30;
// With this many held-out shapes, at least one has a moderate size.
constexpr std::size_t kManyHeldOut = 4;

// Chooses the shapes of requests, as long as there is time.
class Choices {
 public:
  using Limits = std::function<LargerShapes::Limits(std::size_t shapes, bool is_slow)>;

  Choices(const ShapeEffort& effort, std::optional<Clock::time_point> deadline, Limits limits)
      : effort_(effort), deadline_(deadline), limits_(std::move(limits)) {}

  std::vector<Choosing> all;

  [[nodiscard]] std::vector<NextShape> next() {
    std::vector<NextShape> next;
    const auto left = std::ranges::count_if(all, [](const Choosing& one) { return !one.has_larger; });
    for (std::size_t i = 0; i < all.size(); ++i)
      add_next(next, i, static_cast<double>(std::max<std::ptrdiff_t>(left, 1)));
    return next;
  }

  void take(const NextShape& next, Observation observation) {
    Choosing& choosing = all[next.choosing];
    if (next.kind == NextShape::Kind::larger)
      return choosing.larger->take(next.shape, std::move(observation));
    if (observation.outcome != Outcome::ok || !observation.allocation_sequence) {
      choosing.recorded.refused.push_back(std::move(observation));
      return;
    }
    if (next.kind == NextShape::Kind::base) {
      choosing.chooser.set_base(next.shape);
      choosing.has_base = true;
    } else {
      choosing.chooser.accept(next.shape);
    }
    (next.kind == NextShape::Kind::held_out ? choosing.held_out : choosing.fitted)
        .push_back(std::move(observation));
  }

 private:
  void add_next(std::vector<NextShape>& next, std::size_t index, double sharing) {
    using Kind = NextShape::Kind;
    Choosing& one = all[index];
    if (!one.has_base) {
      if (one.tried_bases < one.chooser.bases().size())
        next.push_back({index, one.chooser.bases()[one.tried_bases++], Kind::base});
      return;
    }
    if (one.recorded.refused.size() > (one.is_program ? kMaxRefusedOfProgram : kMaxRefused)) {
      one.has_larger = true;
      return;
    }
    const std::size_t wanted = wanted_for_fitting(one, sharing);
    bool has_more = false;
    for (std::size_t have = one.fitted.size(); have < wanted; ++have) {
      auto shape = one.chooser.next_fitted();
      has_more = shape.has_value();
      if (shape) next.push_back({index, std::move(*shape), Kind::fitted});
    }
    if (wanted < one.counts.fitted && has_more) return;
    if (std::exchange(one.has_tried_fitted, true) == false) return;
    if (add_larger(next, index)) return;
    for (std::size_t have = one.held_out.size(); have < one.counts.held_out; ++have) {
      if (auto shape = one.chooser.next_held_out())
        next.push_back({index, std::move(*shape), Kind::held_out});
    }
  }

  // Returns whether there are larger shapes to record before other held-out shapes.
  bool add_larger(std::vector<NextShape>& next, std::size_t index) {
    Choosing& one = all[index];
    if (one.has_larger || !effort_.with_larger) {
      one.has_larger = true;
      return false;
    }
    const std::size_t held_out = one.counts.held_out;
    if (!one.larger)
      one.larger.emplace(one.chooser, one.fitted,
                         limits_(held_out < kManyHeldOut ? held_out : held_out - 1, one.is_slow),
                         one.largest);
    std::vector<Parameters> shapes = one.larger->next();
    for (Parameters& shape : shapes) next.push_back({index, std::move(shape), NextShape::Kind::larger});
    if (!shapes.empty()) return true;
    one.has_larger = true;
    one.held_out = std::move(*one.larger).recorded();
    return false;
  }

  // The time of the first shape includes the start of the worker. If it is slow, or there is a time limit, a
  // few more shapes show how long one takes.
  [[nodiscard]] std::size_t wanted_for_fitting(Choosing& one, double sharing) const {
    const auto is_slow = [&](const Observation& observation) {
      return observation.seconds.value_or(0) > effort_.slow_seconds;
    };
    if (one.has_probed) return one.counts.fitted;
    const bool may_be_slow = !one.is_program && is_slow(one.fitted.front());
    if ((may_be_slow || deadline_) && one.fitted.size() <= kProbes) return 1 + kProbes;
    one.has_probed = true;
    if (may_be_slow && std::all_of(one.fitted.begin() + 1, one.fitted.begin() + 1 + kProbes, is_slow)) {
      one.is_slow = true;
      one.counts = one.slow_counts;
    }
    if (deadline_) limit_by_time(one, sharing);
    return one.counts.fitted;
  }

  // `sharing`: number of variants that share the remaining time.
  void limit_by_time(Choosing& one, double sharing) const {
    double seconds = 0;
    for (const Observation& observation : one.fitted) seconds += observation.seconds.value_or(0);
    seconds = std::max(seconds / static_cast<double>(one.fitted.size()), 1e-3);
    const std::chrono::duration<double> left = *deadline_ - Clock::now();
    const double more = std::max(0.0, left.count() / sharing / seconds);
    const std::size_t wanted = one.counts.fitted + one.counts.held_out;
    if (more >= static_cast<double>(wanted)) return;
    one.is_slow = true;
    one.counts = shape_counts(
        std::clamp(one.fitted.size() + static_cast<std::size_t>(more), kMinExplainedShapes, wanted));
  }

  const ShapeEffort& effort_;
  std::optional<Clock::time_point> deadline_;
  Limits limits_;
};

}  // namespace

ShapeRecorder::ShapeRecorder(SweepOptions options, bool times)
    : options_(std::move(options)), verifies_(times) {
  options_.run_file = folder_.path() / "run.json";
  options_.memory_only = !times;
  options_.sequences = !times;
  options_.reports_commands = false;  // no suite has the shapes; callers report refused ones
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
  SweepOptions options = options_;
  if (deadline_)
    options.deadline =
        std::max(std::chrono::milliseconds(1),
                 std::chrono::duration_cast<std::chrono::milliseconds>(*deadline_ - Clock::now()));
  Measurement measurement(options);
  const Description& description = workers_->description();
  journal.start(make_run_context(selection_, description, options_.memory_only));
  selection_.planned.clear();
  MeasuredSide side{"", options, journal, selection_, workers_->calls(), {}};
  // Verification would take longer than the passes.
  for (WorkerCall& worker : side.workers) {
    if (!verifies_) worker.arguments.emplace_back("--no-verify");
  }
  side.worker_of = [this](const PlannedCase& planned) { return workers_->index_of(planned); };
  measurement.run({side}, [&](Stop stop, std::chrono::seconds /*spent*/) {
    context_ = journal.run().context;
    for (const Observation& one : journal.run().observations) found[one.case_name] = one;
    journal.finish();
    if (stop == Stop::interrupted) throw Interrupted("interrupted while shapes were recorded");
    if (stop == Stop::deadline && !deadline_)
      throw DeadlineError("the deadline came while shapes were recorded");
    is_over_ = stop == Stop::deadline;
  });
}

LargerShapes::Limits ShapeRecorder::larger_limits(std::size_t shapes, bool is_slow) const {
  const std::optional<Size> memory = options_.budget ? options_.budget : selection_.device.memory_bytes;
  LargerShapes::Limits limits;
  limits.grown = {std::min(kMaxGrownBytes, memory.value_or(kMaxGrownBytes * 4) / 4), kMaxGrownSeconds};
  limits.wanted = {memory.value_or(std::numeric_limits<Size>::max()) / 2, kMaxWantedSeconds};
  limits.shapes = shapes;
  limits.takes_few_steps = is_slow;
  return limits;
}

std::vector<RecordedShapes> ShapeRecorder::record_chosen(const std::vector<ShapeRequest>& requests,
                                                         const ShapeEffort& effort) {
  if (effort.time) deadline_ = Clock::now() + *effort.time;
  Choices choices(effort, deadline_,
                  [this](std::size_t shapes, bool is_slow) { return larger_limits(shapes, is_slow); });
  std::vector<Choosing>& all = choices.all;
  all.reserve(requests.size());
  std::map<std::string, Parameters> bases;
  for (const ShapeRequest& request : requests) {
    const VariantDescription& variant = vocabulary().description.known_variant(request.variant);
    const bool is_program = vocabulary().program(request.variant) != nullptr;
    Choosing& choosing = all.emplace_back(request, variant, is_program, effort);
    if (is_program) continue;  // only a run shows what a program accepts
    // Different sets of words of a variant usually accept the same shapes.
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
  while (!is_over_) {
    const std::vector<NextShape> next = choices.next();
    if (next.empty()) break;
    std::vector<std::pair<std::string, Parameters>> shapes;
    shapes.reserve(next.size());
    for (const NextShape& one : next) shapes.emplace_back(all[one.choosing].recorded.variant, one.shape);
    std::vector<Observation> observations = record(shapes);
    for (std::size_t i = 0; i < next.size(); ++i) {
      const bool is_missing = is_over_ && !observations[i].seconds && observations[i].message.empty();
      if (!is_missing) choices.take(next[i], std::move(observations[i]));
    }
  }
  deadline_.reset();
  is_over_ = false;
  std::vector<RecordedShapes> recorded;
  for (Choosing& one : all) {
    if (one.larger && !one.has_larger) one.held_out = std::move(*one.larger).recorded();
    // If held-out shapes were refused, or there was no time for them, others are held out instead.
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
