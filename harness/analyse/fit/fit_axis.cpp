#include "analyse/fit/fit_axis.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "analyse/explain/derive/run_formulas.hpp"
#include "analyse/fit/estimated_bytes.hpp"
#include "base/text.hpp"
#include "measure/estimate/worker_estimates.hpp"
#include "measure/statistics/rank_statistics.hpp"
#include "measure/supervise/memory_reserve.hpp"
#include "measure/supervise/recorded_estimates.hpp"

namespace peakmark {
namespace {

/// Maximum answer: 2⁴⁰ elements along one axis are more than any device can hold.
constexpr Size kMaxValue = Size{1} << 40;
/// Values are predicted up to this many doublings beyond the first that does not fit, because memory may
/// decrease again.
constexpr int kDoublingsBeyond = 4;
constexpr double kMaxUnknownBytes = 1e15;
constexpr std::size_t kMaxTrials = 30;
/// Minimum number of equal peaks: fewer may come from a pool of fixed size.
constexpr std::size_t kMinSame = 3;

const VariantDescription& find_variant(const ShapeRecorder& recorder, const std::string& name) {
  if (name.empty())
    throw UsageError("no variant to fit: name one, such as padding/coords1d, or write a program after --");
  return recorder.vocabulary().description.known_variant(name);
}

/// Returns the range up to some doublings beyond the last value that is predicted to fit.
SearchRange shortened_range(SearchRange range, Size budget_bytes, const PredictedBytes& predicted) {
  int beyond = 0;
  for (Size value = range.min; value <= kMaxValue / 2; value *= 2) {
    const std::optional<Size> bytes = predicted(value);
    beyond = bytes && *bytes <= budget_bytes ? 0 : beyond + 1;
    if (beyond < kDoublingsBeyond) continue;
    range.max = std::min(range.max, value);
    break;
  }
  return range;
}

std::optional<Size> largest_allocation(const Observation& observation) {
  if (observation.largest_refused_bytes) return observation.largest_refused_bytes;
  if (!observation.allocation_sequence || observation.allocation_sequence->empty()) return std::nullopt;
  return std::ranges::max(*observation.allocation_sequence, {}, &SequencedAllocation::bytes).bytes;
}

/// Returns how many of the shapes for a formula did not run, and the largest that did.
std::string refused_shapes_text(const std::vector<Observation>& recorded,
                                const std::vector<Observation>& refused) {
  const Observation& first = refused.front();
  std::string text = fmt::format("{} of {} did not run; the first: {}", refused.size(),
                                 quantity(recorded.size() + refused.size(), "small shape"),
                                 first.message.empty() ? to_string(first.outcome) : first.message);
  if (recorded.empty()) return text;
  const Observation& largest = *std::ranges::max_element(recorded, {}, &Observation::requested_peak_bytes);
  return text + fmt::format("; the largest that ran: {}, {}", largest.case_name,
                            format_size(largest.requested_peak_bytes.value_or(0)));
}

bool is_constant(const PredictedBytes& bytes, const SearchRange& range) {
  const std::optional<Size> at_min = bytes(range.min);
  return at_min && at_min == bytes(range.max);
}

/// If an estimator predicts, estimate() asks it about many values at a time.
SweepOptions without_estimators(SweepOptions options) {
  options.asks_estimators = false;
  return options;
}

}  // namespace

AxisFitter::AxisFitter(FitRequest request)
    : request_(std::move(request)),
      recorder_(without_estimators(request_.sweep)),
      variant_(find_variant(recorder_, request_.variant)),
      values_(variant_.defaults()),
      budget_(resolve_budget_on(request_.budget, recorder_.device())) {
  if (request_.wants_throughput && recorder_.device().backend == Backend::dry)
    throw UsageError("--objective throughput: dry measures no times; fit on a device");
  set_values();
  find_predictor();
}

const AxisDescription& AxisFitter::integer_axis(const std::string& name) const {
  const AxisDescription& axis = variant_.known_axis(name);
  if (std::holds_alternative<double>(axis.default_value))
    throw UsageError(fmt::format(
        "axis '{0}' of {1} has floating-point numbers, and fit takes an axis of integers: measure the "
        "peaks at some of its values by `peakmark run … {0}=0.5,1,2 --memory-only`, or fit an axis of "
        "integers that follows from it",
        name, variant_.name));
  if (std::holds_alternative<std::string>(axis.default_value))
    throw UsageError(fmt::format("axis '{}' of {} is not an integer axis", name, variant_.name));
  return axis;
}

void AxisFitter::set_values() {
  integer_axis(request_.axis.name);
  if (request_.other) integer_axis(request_.other->name);
  std::vector<std::string> plain;
  for (const std::string& text : request_.values) {
    const auto [name, value] = split_key_value(text);
    const AxisDescription* const axis = variant_.axis(name);
    const bool is_integer = axis != nullptr && std::holds_alternative<Size>(axis->default_value);
    if (!is_integer || parse_number<Size>(value)) {
      plain.push_back(text);
      continue;
    }
    derived_.push_back({name, Formula(value)});
  }
  for (const DerivedAxis& one : derived_) {
    for (const std::string& other : one.formula.axes()) {
      integer_axis(other);
      if (std::ranges::find(derived_, other, &DerivedAxis::name) != derived_.end())
        throw UsageError(fmt::format("{}={}: '{}' is itself a formula: use '{}' and axes with values",
                                     one.name, one.formula.text(), other, request_.axis.name));
    }
  }
  for (const std::string& text : request_.values) {
    const std::string name = split_key_value(text).first;
    if (name == request_.axis.name || (request_.other && name == request_.other->name))
      throw UsageError(fmt::format("axis '{}' is fitted and has a value: leave out {}", name, text));
  }
  values_ = parse_parameters(variant_, plain);
}

Size AxisFitter::value_of(const std::string& axis, Size fitted) const {
  if (axis == request_.axis.name) return fitted;
  for (const DerivedAxis& one : derived_) {
    if (one.name == axis)
      return one.formula.evaluate_integer([&](const std::string& other) {
        return other == request_.axis.name ? Number(fitted) : values_.number(other);
      });
  }
  // The name of an allocation without a formula stands for its bytes.
  return values_.find(axis) == nullptr ? Size{0} : values_.integer(axis);
}

Parameters AxisFitter::shape_at(Size fitted) const {
  Parameters shape = values_;
  shape.set(request_.axis.name, fitted);
  for (const DerivedAxis& one : derived_) shape.set(one.name, value_of(one.name, fitted));
  return shape;
}

/// Returns the peak by the formula; null if the formula has no value.
std::optional<Size> AxisFitter::predict(Size fitted) const {
  try {
    const Size known = peak_->evaluate([&](const std::string& axis) { return value_of(axis, fitted); });
    const double unknown = unknown_bytes_ + unknown_bytes_per_step_ * static_cast<double>(fitted);
    return checked_add(known, static_cast<Size>(std::clamp(unknown, 0.0, kMaxUnknownBytes)));
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

/// Returns the estimator's answers in bytes at values of the axis.
std::vector<std::optional<Size>> AxisFitter::estimate(const std::vector<Size>& values) {
  Run run;
  run.observations.reserve(values.size());
  for (const Size value : values) {
    Observation observation;
    observation.variant = variant_.name;
    observation.axes = shape_at(value);
    observation.requested_peak_bytes = budget_.bytes;
    run.observations.push_back(std::move(observation));
  }
  RecordedQuestion question;
  question.suites = request_.sweep.selection.suites;
  question.worker = request_.sweep.worker;
  question.limit_option = "--timeout";
  if (const CaseLimit& limit = request_.sweep.case_limit; limit.per_gib.count() == 0)  // the user's limit
    question.seconds = std::chrono::duration<double>(limit.base).count();
  question.warnings = &warnings_;
  ask_about_run(run, question);
  std::vector<std::optional<Size>> answers;
  answers.reserve(values.size());
  for (const Observation& one : run.observations)
    answers.push_back(one.estimate && !one.estimate->error ? one.estimate->bytes_estimated : std::nullopt);
  return answers;
}

/// Returns the predicted bytes; empty, with a note on the reason, if neither formula nor estimator has them.
PredictedBytes AxisFitter::prediction(FitReport& report) {
  if (predictor_ == Predictor::formula) return [this](Size value) { return predict(value); };
  if (predictor_ == Predictor::recordings) return {};
  EstimatedBytes bytes(report.range, budget_.bytes,
                       [this](const std::vector<Size>& values) { return estimate(values); });
  const std::optional<Size> gap = bytes.gap_above();
  const bool is_asked_for = request_.predictor == Predictor::estimator;
  if (gap) {
    report.notes.push_back(fmt::format("the estimator has no answer at {}={}: {}", report.axis, *gap,
                                       is_asked_for ? "larger values may fit" : "peaks were extrapolated"));
    if (!is_asked_for) return {};
  }
  if (is_constant(bytes, report.range)) {
    report.notes.push_back(
        fmt::format("the estimator does not depend on {}: peaks were extrapolated", report.axis));
    return {};
  }
  if (!is_estimator_noted_) report.notes.emplace_back("predicted by the estimator");
  return bytes;
}

void AxisFitter::find_predictor() {
  const bool is_program = recorder_.vocabulary().program(variant_.name) != nullptr;
  const Predictor otherwise = is_program ? Predictor::recordings : Predictor::formula;
  const bool has_estimator = !variant_.estimators.empty();
  predictor_ = request_.predictor.value_or(is_program && has_estimator ? Predictor::estimator : otherwise);
  if (predictor_ == Predictor::estimator && !has_estimator)
    throw UsageError(fmt::format("{} has no estimator: predict by formula or recordings", variant_.name));
}

/// Explains the variant with its fixed words.
void AxisFitter::find_formula() {
  notes_.clear();
  is_estimator_noted_ = false;
  if (!budget_.text.empty()) notes_.push_back(fmt::format("budget: {}", budget_.text));
  if (predictor_ != Predictor::formula) return;
  std::map<std::string, AxisBounds> bounds;
  for (const auto& [axis, value] : values_.values()) {
    // 0 often has another meaning than a small number: no chunks, no region. So has 1, which some programs
    // need. Therefore an axis is 0 in all shapes or in none, and likewise 1.
    const bool is_free = axis == request_.axis.name || (request_.other && axis == request_.other->name) ||
                         std::ranges::find(derived_, axis, &DerivedAxis::name) != derived_.end();
    if (const Size* const integer = std::get_if<Size>(&value))
      bounds[axis] = *integer <= 1 && !is_free ? AxisBounds{*integer, *integer} : AxisBounds{1, kMaxValue};
  }
  Run run;
  std::vector<Observation> refused;
  for (RecordedShapes& shapes : recorder_.record_chosen({{variant_.name, choice_axes(values_), bounds}})) {
    std::ranges::move(shapes.observations, std::back_inserter(run.observations));
    std::ranges::move(shapes.refused, std::back_inserter(refused));
  }
  if (!refused.empty()) notes_.push_back(refused_shapes_text(run.observations, refused));
  const std::string shapes = quantity(run.observations.size(), "small shape");
  std::vector<std::string> unknown;
  if (!run.observations.empty()) {
    const auto formulas = explain_cases(group_cases(run));
    const Explanation& explanation = formulas.front().explanation;
    peak_ = explanation.peak();
    if (!peak_) {
      peak_ = explanation.partial_peak();
      for (const std::string& name : peak_ ? peak_->axes() : std::vector<std::string>()) {
        if (values_.find(name) == nullptr) unknown.push_back(name);
      }
    }
  }
  if (!peak_) {
    const bool has_estimator = !request_.predictor && !variant_.estimators.empty();
    predictor_ = has_estimator ? Predictor::estimator : Predictor::recordings;
    is_estimator_noted_ = has_estimator;
    notes_.push_back(fmt::format(
        "no formula of the peak was found in {}: {}; `peakmark explain {}` {}", shapes,
        has_estimator ? "predicted by the estimator" : "peaks were extrapolated", variant_.name,
        refused.empty() || !request_.sweep.max_allocation ? "shows why" : "records them without the limit"));
  } else if (unknown.empty()) {
    notes_.push_back(fmt::format("the formula is exact on {}", shapes));
  } else {
    extrapolate_unknown(run.observations);
    notes_.push_back(
        fmt::format("no formula of {}: its bytes were extrapolated from {}, and taken from the nearest trial",
                    fmt::join(unknown, ", "), shapes));
  }
}

/// Draws a line through the bytes that the formula leaves unexplained at the smallest and the largest value
/// of the axis.
void AxisFitter::extrapolate_unknown(const std::vector<Observation>& observations) {
  std::vector<std::pair<double, double>> points;
  for (const Observation& one : observations) {
    if (!one.requested_peak_bytes) continue;
    const auto value = [&](const std::string& axis) {
      return one.axes.find(axis) == nullptr ? Size{0} : one.axes.integer(axis);
    };
    const Size known = peak_->evaluate(value);
    points.emplace_back(value(request_.axis.name), *one.requested_peak_bytes - known);
  }
  if (points.empty()) return;
  const auto [first, last] = std::ranges::minmax(points);
  if (last.first > first.first)
    unknown_bytes_per_step_ = std::max(0.0, (last.second - first.second) / (last.first - first.first));
  unknown_bytes_ = last.second - unknown_bytes_per_step_ * last.first;
}

void AxisFitter::set_range(FitReport& report) const {
  SearchRange& range = report.range;
  range.step = request_.step;
  const auto& given = request_.axis.range;
  const Size least = std::max<Size>(integer_axis(request_.axis.name).min, 1);
  range.min = divide_up(given ? given->first : least, range.step) * range.step;
  report.is_range_given = given.has_value();
  range.list = request_.axis.list;
  if (given) {
    if (given->second > kMaxValue)
      throw UsageError(fmt::format("{}={}..{}: no device has that much memory: the last value may be {}",
                                   request_.axis.name, given->first, given->second, kMaxValue));
    range.max = given->second;
    if (range.max < range.min)
      throw UsageError(fmt::format("no multiple of {} in {}..{}", range.step, given->first, given->second));
    return;
  }
  range.max = *SearchRange{range.min, kMaxValue, range.step}.at_most(kMaxValue);
}

void AxisFitter::check_changes_memory(const FitReport& report, const LargestValueSearch& search,
                                      const PredictedBytes& predicted) const {
  if (report.is_range_given) return;
  const auto& trials = search.trials();
  const bool is_same = trials.size() >= kMinSame && std::ranges::all_of(trials, [&](const FitTrial& trial) {
                         return trial.peak_bytes && trial.peak_bytes == trials.front().peak_bytes;
                       });
  const bool is_formula = report.predictor == Predictor::formula;
  if (is_same || (is_formula && is_constant(predicted, report.range)))
    throw UsageError(fmt::format(
        "axis '{}' does not change the memory of {}: every value fits, or none; write {}=MIN..MAX to "
        "run the largest",
        report.axis, report.variant, report.axis));
}

FitTrial AxisFitter::record(Size value, std::optional<Size> predicted) {
  const Observation observation = recorder_.record(variant_.name, {shape_at(value)}).front();
  FitTrial trial{.value = value,
                 .predicted_bytes = predicted,
                 .outcome = std::string(to_string(observation.outcome)),
                 .message = observation.message,
                 .largest_allocation = largest_allocation(observation)};
  if (observation.outcome != Outcome::ok) return trial;
  if (!observation.requested_peak_bytes)
    throw MeasurementError(fmt::format("{}={}: no memory was recorded", request_.axis.name, value));
  const std::optional<Size> allowed = recorder_.max_allocation();
  const bool is_expected = predicted.value_or(0) > budget_.bytes ||
                           (allowed && observation.largest_refused_bytes.value_or(0) > *allowed);
  if (observation.failed_allocations && is_expected) {
    // The program may have used a smaller size. For other programs a failure need not be a lack of memory:
    // some libraries request 0 bytes.
    trial.outcome = to_string(Outcome::out_of_memory);
    trial.message = fmt::format(
        "{}, and the program went on",
        quantity(*observation.failed_allocations, "allocation was refused", "allocations were refused"));
    trial.went_on = true;
    return trial;
  }
  trial.peak_bytes =
      std::max(*observation.requested_peak_bytes, observation.second_pass_peak_bytes.value_or(0));
  return trial;
}

void AxisFitter::try_values(LargestValueSearch& search, FitReport& report, const PredictedBytes& predicted) {
  std::set<std::string> noted;  // the first message of each outcome, for example that the memory differs
  while (const std::optional<Size> value = search.next()) {
    check_changes_memory(report, search, predicted);
    if (search.trials().size() == kMaxTrials) {
      report.notes.push_back(fmt::format(
          "the search ended after {} trials: the peaks are not a function of {}", kMaxTrials, report.axis));
      break;
    }
    search.add(record(*value, search.predict(*value)));
    const FitTrial& trial = search.trials().back();
    const bool is_worth_a_note = trial.outcome == "ok" || trial.went_on;
    if (is_worth_a_note && !trial.message.empty() && noted.insert(trial.outcome).second)
      report.notes.push_back(fmt::format("{}={}: {}", report.axis, *value, trial.message));
    if (trial.outcome == "ok" || trial.outcome == "out_of_memory") continue;
    report.notes.push_back(fmt::format("{}={}: {}: {}", report.axis, *value, trial.outcome, trial.message));
    if (trial.outcome == "unsupported") continue;
    report.is_stopped = true;
    report.reproduce = reproduce_command(request_, recorder_.device(), budget_.bytes, *value,
                                         request_.other ? values_.integer(request_.other->name) : 0);
    break;
  }
  check_changes_memory(report, search, predicted);
  const bool is_without_memory = std::ranges::all_of(
      search.trials(), [](const FitTrial& trial) { return trial.outcome == "ok" && trial.peak_bytes == 0; });
  if (is_without_memory && !search.trials().empty())
    throw UsageError(fmt::format(
        "{} allocated no device memory at {}={}: there is nothing to fit; does it use {}?", report.variant,
        report.axis, search.trials().front().value, to_string(recorder_.device().backend)));
}

/// Returns the values whose throughput is compared: those of a list, or the smallest value times powers of
/// two, and the largest value that fits.
std::vector<Size> AxisFitter::compared_values(const FitReport& report) {
  std::vector<Size> values;
  const SearchRange& range = report.range;
  const Size largest = *report.largest;
  if (!range.list.empty()) {
    std::ranges::copy_if(range.list, std::back_inserter(values), [&](Size value) { return value < largest; });
  } else {
    for (Size value = range.min; value < largest; value *= 2) values.push_back(*range.at_most(value));
  }
  values.push_back(largest);
  return values;
}

/// Measures times of values that fit, and makes the value with the most items per second the answer.
void AxisFitter::take_times(FitReport& report) {
  if (!report.value || report.is_stopped) return;
  report.largest = report.value;
  const std::vector<Size> values = compared_values(report);
  ShapeRecorder recorder(without_estimators(request_.sweep), true);
  recorder.set_budget(budget_.bytes);
  std::vector<Parameters> shapes;
  shapes.reserve(values.size());
  for (const Size value : values) shapes.push_back(shape_at(value));
  const std::vector<Observation> observations = recorder.record(variant_.name, shapes);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Observation& one = observations[i];
    const bool is_timed = one.outcome == Outcome::ok && one.gpu_time && one.gpu_time->median_ns > 0;
    if (!is_timed || one.requested_peak_bytes.value_or(0) > budget_.bytes) {
      const std::string outcome(to_string(one.outcome));
      report.notes.push_back(fmt::format("{}={}: no time: {}", report.axis, values[i],
                                         one.message.empty() ? outcome : outcome + ": " + one.message));
      continue;
    }
    std::vector<double> samples;
    for (const std::vector<double>& block : one.gpu_time->blocks)
      samples.insert(samples.end(), block.begin(), block.end());
    const auto per_second = [&](double ns) { return static_cast<double>(values[i]) * 1e9 / ns; };
    const double median = one.gpu_time->median_ns;
    report.timed.push_back({values[i], median, per_second(median), per_second(quantile(samples, 0.75)),
                            per_second(quantile(samples, 0.25)), one.time_source.value_or("")});
    if (std::ranges::find(report.trials, values[i], &FitTrial::value) == report.trials.end())
      report.trials.push_back({.value = values[i],
                               .peak_bytes = one.requested_peak_bytes,
                               .outcome = std::string(to_string(one.outcome))});
  }
  if (report.timed.empty())
    throw MeasurementError(fmt::format("no time of {} was measured: {}", variant_.name, report.notes.back()));
  report.value = std::ranges::max_element(report.timed, {}, &TimedValue::items_per_second)->value;
}

FitReport AxisFitter::fit_once() {
  FitReport report;
  report.variant = variant_.name;
  report.backend = to_string(recorder_.device().backend);
  report.device = recorder_.device().name;
  report.axis = request_.axis.name;
  for (const auto& [name, value] : values_.values()) {
    if (name == request_.axis.name) continue;
    const auto derived = std::ranges::find(derived_, name, &DerivedAxis::name);
    report.fixed.emplace_back(name, derived == derived_.end() ? to_text(value) : derived->formula.text());
  }
  report.budget_bytes = budget_.bytes;
  report.predictor = predictor_;
  report.notes = notes_;
  set_range(report);
  recorder_.set_budget(budget_.bytes);
  const PredictedBytes predicted = prediction(report);
  if (!predicted) report.predictor = Predictor::recordings;
  if (predicted) {
    if (!report.is_range_given) report.range = shortened_range(report.range, budget_.bytes, predicted);
    if (peak_) report.formula = to_text(*peak_, ExpressionStyle::display);
    report.intervals = fitting_intervals(report.range, report.budget_bytes, predicted);
  }
  report.max_allocation = recorder_.max_allocation();
  LargestValueSearch search(report.range, report.budget_bytes, predicted, report.max_allocation);
  if (request_.needs_proof) search.require_proof();
  try_values(search, report, predicted);
  report.trials = search.trials();
  report.value = search.largest();
  if (request_.wants_throughput) take_times(report);
  report.predicted = predicted_curve(search, report.range);
  if (search.is_decreasing_somewhere())
    report.notes.emplace_back("the peak decreases where the axis grows: larger values may fit as well");
  if (report.value && request_.slices) {
    report.chunks = plan_chunks(*request_.slices, *report.value);
    if (predicted) report.last_chunk_bytes = predicted(report.chunks->last_slices);
  }
  return report;
}

std::vector<FitReport> AxisFitter::fit() {
  if (!request_.other) {
    find_formula();
    return {fit_once()};
  }
  const FreeAxis& other = *request_.other;
  const Size first = other.range ? other.range->first : std::max<Size>(integer_axis(other.name).min, 1);
  values_.set(other.name, first);
  find_formula();
  std::vector<Size> values = other.list;
  for (Size value = first; other.list.empty() && value <= (other.range ? other.range->second : kMaxValue);
       value *= 2)
    values.push_back(value);
  std::vector<FitReport> reports;
  for (const Size value : values) {
    values_.set(other.name, value);
    FitReport report = fit_once();
    const bool is_end = report.is_stopped || (!report.value && !other.range);
    reports.push_back(std::move(report));
    if (is_end) break;
  }
  return reports;
}

}  // namespace peakmark
