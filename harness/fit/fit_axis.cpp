#include "fit/fit_axis.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/text.hpp"
#include "explain/run_formulas.hpp"
#include "fit/estimated_bytes.hpp"
#include "fit/program_suite.hpp"
#include "supervise/estimate_question.hpp"
#include "supervise/recorded_estimates.hpp"

namespace peakmark {
namespace {

/// No answer is larger: 2⁴⁰ elements along one axis are more than any device holds.
constexpr Size kMaxValue = Size{1} << 40;
/// Values are predicted up to this many doublings beyond the first that does not fit: memory may decrease
/// again.
constexpr int kDoublingsBeyond = 4;
constexpr Size kCurvePoints = 200;

std::pair<std::string, std::string> split_value(const std::string& text) {
  const std::size_t equals = text.find('=');
  return {text.substr(0, equals), text.substr(equals + 1)};
}

const VariantDescription& find_variant(const ShapeRecorder& recorder, const std::string& name) {
  if (name.empty())
    throw UsageError("no variant to fit: name one, such as padding/coords1d, or write a program behind --");
  return recorder.vocabulary().description.known_variant(name);
}

/// Returns the range up to some doublings beyond the last that is predicted to fit.
SearchRange shortened(SearchRange range, Size budget_bytes, const PredictedBytes& predicted) {
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

/// Returns the predicted bytes from the smallest value to a quarter beyond the largest that ran.
std::vector<std::pair<Size, Size>> predicted_curve(const LargestValueSearch& search,
                                                   const SearchRange& range) {
  Size last = range.min;
  for (const FitTrial& trial : search.trials()) last = std::max(last, trial.value);
  last = std::min(range.max, last + last / 4);
  const Size stride = divide_up(divide_up(last - range.min + 1, kCurvePoints), range.step) * range.step;
  std::vector<std::pair<Size, Size>> points;
  for (Size value = range.min; value <= last; value += stride) {
    if (const std::optional<Size> bytes = search.predict(value)) points.emplace_back(value, *bytes);
  }
  return points;
}

bool is_constant(const PredictedBytes& bytes, const SearchRange& range) {
  const std::optional<Size> at_min = bytes(range.min);
  return at_min && at_min == bytes(range.max);
}

}  // namespace

void use_program(FitRequest& request, const std::vector<std::string>& command, const ScratchFolder& folder) {
  const std::string placeholder = "{" + request.axis.name + "}";
  if (std::ranges::none_of(
          command, [&](const std::string& word) { return word.find(placeholder) != std::string::npos; }))
    throw UsageError(fmt::format("the program does not read the axis '{}': write {} where its value belongs",
                                 request.axis.name, placeholder));
  std::vector<std::pair<std::string, std::string>> axes;
  const auto add_free = [&](const FreeAxis& axis) {
    axes.emplace_back(axis.name, std::to_string(axis.range ? axis.range->first : 1));
  };
  add_free(request.axis);
  if (request.other) add_free(*request.other);
  for (const std::string& text : request.values) {
    const auto [axis, value] = split_value(text);
    // A formula of the fitted axis is evaluated here; the program gets an integer.
    const bool is_formula = !parse_number<Size>(value) && value.find(request.axis.name) != std::string::npos;
    axes.emplace_back(axis, is_formula ? "1" : value);
  }
  const std::filesystem::path suite = folder.path() / "fit.toml";
  request.variant = write_program_suite(command, axes, suite);
  request.sweep.selection.suites = {suite};
}

AxisFitter::AxisFitter(FitRequest request)
    : request_(std::move(request)),
      recorder_(request_.sweep),
      variant_(find_variant(recorder_, request_.variant)),
      values_(variant_.defaults()),
      budget_(resolve_budget(request_.budget, recorder_.device())) {
  set_values();
  find_predictor();
}

const AxisDescription& AxisFitter::integer_axis(const std::string& name) const {
  const AxisDescription& axis = variant_.known_axis(name);
  if (!std::holds_alternative<Size>(axis.default_value))
    throw UsageError(fmt::format("axis '{}' of {} has words, not integers", name, variant_.name));
  return axis;
}

void AxisFitter::set_values() {
  integer_axis(request_.axis.name);
  if (request_.other) integer_axis(request_.other->name);
  std::vector<std::string> plain;
  for (const std::string& text : request_.values) {
    const auto [name, value] = split_value(text);
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
        throw UsageError(fmt::format("{}={}: '{}' has a formula itself: use '{}' and axes with values",
                                     one.name, one.formula.text(), other, request_.axis.name));
    }
  }
  for (const std::string& text : request_.values) {
    const std::string name = split_value(text).first;
    if (name == request_.axis.name || (request_.other && name == request_.other->name))
      throw UsageError(fmt::format("axis '{}' is fitted and has a value: leave out {}", name, text));
  }
  values_ = parse_parameters(variant_, plain);
}

Size AxisFitter::value_of(const std::string& axis, Size fitted) const {
  if (axis == request_.axis.name) return fitted;
  for (const DerivedAxis& one : derived_) {
    if (one.name == axis)
      return one.formula.evaluate([&](const std::string& other) {
        return other == request_.axis.name ? fitted : values_.integer(other);
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

/// Returns the peak by the formula; nothing where it does not hold.
std::optional<Size> AxisFitter::predict(Size fitted) const {
  try {
    return peak_->evaluate([&](const std::string& axis) { return value_of(axis, fitted); });
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

/// Returns the bytes that the estimator answers at values of the axis.
std::vector<std::optional<Size>> AxisFitter::estimate(const std::vector<Size>& values) const {
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
  ask_about_run(run, question);
  std::vector<std::optional<Size>> answers;
  answers.reserve(values.size());
  for (const Observation& one : run.observations)
    answers.push_back(one.estimate && !one.estimate->error ? one.estimate->bytes_estimated : std::nullopt);
  return answers;
}

/// Returns the predicted bytes; empty without formula and estimator.
PredictedBytes AxisFitter::prediction(const SearchRange& range) const {
  if (predictor_ == Predictor::formula) return [this](Size value) { return predict(value); };
  if (predictor_ == Predictor::recordings) return {};
  return EstimatedBytes(range, budget_.bytes,
                        [this](const std::vector<Size>& values) { return estimate(values); });
}

void AxisFitter::find_predictor() {
  const bool is_program = recorder_.vocabulary().program(variant_.name) != nullptr;
  const Predictor otherwise = is_program ? Predictor::recordings : Predictor::formula;
  const bool has_estimator = !variant_.estimators.empty();
  predictor_ = request_.predictor.value_or(is_program && has_estimator ? Predictor::estimator : otherwise);
  if (predictor_ == Predictor::estimator && !has_estimator)
    throw UsageError(fmt::format("{} has no estimator: predict by formula or recordings", variant_.name));
}

/// Explains the variant with its words as they are fixed.
void AxisFitter::find_formula() {
  notes_.clear();
  if (!budget_.text.empty()) notes_.push_back(fmt::format("budget: {}", budget_.text));
  if (predictor_ == Predictor::estimator) notes_.emplace_back("predicted by the estimator");
  if (predictor_ != Predictor::formula) return;
  std::map<std::string, AxisBounds> bounds;
  for (const auto& [axis, value] : values_.values()) {
    // 0 often means something else than a small number: no chunks, no region. An axis is 0 in all shapes or
    // in none.
    const bool is_free =
        axis == request_.axis.name || std::ranges::find(derived_, axis, &DerivedAxis::name) != derived_.end();
    if (const Size* const integer = std::get_if<Size>(&value))
      bounds[axis] = *integer == 0 && !is_free ? AxisBounds{0, 0} : AxisBounds{1, kMaxValue};
  }
  Run run;
  for (RecordedShapes& shapes : recorder_.record_chosen({{variant_.name, word_axes(values_), bounds}}))
    std::ranges::move(shapes.observations, std::back_inserter(run.observations));
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
    notes_.push_back(
        fmt::format("no formula of the peak was found in {}: {}; `peakmark explain {}` shows why", shapes,
                    has_estimator ? "predicted by the estimator" : "peaks were extrapolated", variant_.name));
  } else if (unknown.empty()) {
    notes_.push_back(fmt::format("the formula is exact on {}", shapes));
  } else {
    notes_.push_back(fmt::format("no formula of {}: predictions take its bytes from the nearest trial",
                                 fmt::join(unknown, ", ")));
  }
}

void AxisFitter::set_range(FitReport& report) const {
  SearchRange& range = report.range;
  range.step = request_.step;
  const auto& given = request_.axis.range;
  const Size least = std::max<Size>(integer_axis(request_.axis.name).least, 1);
  range.min = divide_up(given ? given->first : least, range.step) * range.step;
  report.is_range_given = given.has_value();
  if (given) {
    if (given->second > kMaxValue)
      throw UsageError(fmt::format("{}={}..{}: no device holds so much: the last value may be {}",
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
  const bool is_same = trials.size() >= 2 && std::ranges::all_of(trials, [&](const FitTrial& trial) {
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
  FitTrial trial{value, std::nullopt, predicted, std::string(to_string(observation.outcome)),
                 observation.message};
  if (observation.outcome != Outcome::ok) return trial;
  trial.peak_bytes = observation.requested_peak_bytes;
  if (!trial.peak_bytes)
    throw MeasurementError(fmt::format("{}={}: no memory was recorded", request_.axis.name, value));
  return trial;
}

void AxisFitter::try_values(LargestValueSearch& search, FitReport& report, const PredictedBytes& predicted) {
  bool has_message = false;  // that the memory differs from run to run, for example; the first says it
  while (const std::optional<Size> value = search.next()) {
    check_changes_memory(report, search, predicted);
    search.add(record(*value, search.predict(*value)));
    const FitTrial& trial = search.trials().back();
    if (trial.outcome == "ok" && !trial.message.empty() && !has_message)
      report.notes.push_back(fmt::format("{}={}: {}", report.axis, *value, trial.message));
    has_message = has_message || (trial.outcome == "ok" && !trial.message.empty());
    if (trial.outcome == "ok" || trial.outcome == "out_of_memory") continue;
    report.notes.push_back(fmt::format("{}={}: {}: {}", report.axis, *value, trial.outcome, trial.message));
    if (trial.outcome == "unsupported") continue;
    report.is_stopped = true;
    break;
  }
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
  PredictedBytes predicted = prediction(report.range);
  if (report.predictor == Predictor::estimator && is_constant(predicted, report.range)) {
    report.notes.push_back(
        fmt::format("the estimator does not depend on {}: peaks were extrapolated", report.axis));
    report.predictor = Predictor::recordings;
    predicted = nullptr;
  }
  if (predicted) {
    if (!report.is_range_given) report.range = shortened(report.range, budget_.bytes, predicted);
    if (peak_) report.formula = to_text(*peak_, ExpressionStyle::display);
    report.intervals = fitting_intervals(report.range, report.budget_bytes, predicted);
  }
  LargestValueSearch search(report.range, report.budget_bytes, predicted);
  if (request_.needs_proof) search.require_proof();
  try_values(search, report, predicted);
  report.trials = search.trials();
  report.value = search.largest();
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
  const Size first = other.range ? other.range->first : std::max<Size>(integer_axis(other.name).least, 1);
  values_.set(other.name, first);
  find_formula();
  std::vector<FitReport> reports;
  for (Size value = first; value <= (other.range ? other.range->second : kMaxValue); value *= 2) {
    values_.set(other.name, value);
    FitReport report = fit_once();
    const bool is_end = report.is_stopped || (!report.value && !other.range);
    reports.push_back(std::move(report));
    if (is_end) break;
  }
  return reports;
}

}  // namespace peakmark
