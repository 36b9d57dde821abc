#include "analyse/explain/derive/memory_curve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/bisection.hpp"
#include "base/error.hpp"

namespace peakmark {
namespace {

using Lengths = std::vector<Size>;  // of one shape: the value of each axis

/// Maximum number of shapes of a curve, and of shapes in the range of the recorded ones.
constexpr Size kMaxCurveShapes = 128;
/// Without `at` and a budget, a curve ends at this multiple of the largest recorded shape.
constexpr Size kReach = 4;
constexpr Size kMaxCurveLength = Size{1} << 48;
/// Maximum number of recorded shapes among which lines are searched, because the time grows with its third
/// power.
constexpr std::size_t kMaxSearched = 48;
constexpr std::size_t kRecordedOnCurve = 6;

// Shapes on a straight line: each axis is a linear function of one of them, rounded to the nearest integer.
struct Line {
  std::size_t axis = 0;  // the horizontal axis
  Lengths from;
  Lengths to;

  [[nodiscard]] Lengths at(Size length) const {
    const Size run = to[axis] - from[axis];
    Lengths values;
    values.reserve(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
      const Size rise = checked_multiply(length - from[axis], to[i] - from[i]);
      const Size twice = checked_add(checked_multiply(2, rise), run);
      // Rounded down, also below zero.
      const Size step = twice / (2 * run) - (twice % (2 * run) < 0 ? 1 : 0);
      values.push_back(checked_add(from[i], step));
    }
    return values;
  }
  [[nodiscard]] bool has(const Lengths& shape) const { return at(shape[axis]) == shape; }
};

// Returns the horizontal axis, if `grows` is known for each axis; null if the requested one does not grow.
std::optional<std::size_t> horizontal_axis(const Shapes& shapes, const std::vector<bool>& grows,
                                           const std::string& wanted) {
  for (std::size_t axis = 0; axis < shapes.axes.size(); ++axis) {
    if (grows[axis] && (wanted.empty() || shapes.axes[axis].name == wanted)) return axis;
  }
  return std::nullopt;
}

// Returns the line from 0 to the shape `options.at`. Axes that do not exceed the recorded shapes stay
// constant.
std::optional<Line> line_to(const RecordedCases& cases, const CurveOptions& options) {
  const Shapes& shapes = cases.shapes;
  Line line;
  line.to = shapes.lengths(largest_shape(cases));
  std::vector<bool> is_given(shapes.axes.size(), false);
  std::vector<bool> grows(shapes.axes.size(), false);
  for (const auto& [name, value] : options.at) {
    const Shapes::Axis* const axis = shapes.axis(name);
    if (axis == nullptr) continue;
    const auto i = static_cast<std::size_t>(axis - shapes.axes.data());
    line.to[i] = value;
    is_given[i] = value > 0;
    grows[i] = value > std::ranges::max(axis->values);
  }
  if (std::ranges::find(grows, true) == grows.end()) grows = is_given;
  const auto axis = horizontal_axis(shapes, grows, options.axis);
  if (!axis) return std::nullopt;
  line.axis = *axis;
  line.from = line.to;
  for (std::size_t i = 0; i < grows.size(); ++i) {
    if (grows[i]) line.from[i] = 0;
  }
  return line;
}

// Returns the line with the most recorded shapes; if there are several, the one that reaches the largest
// peak.
std::optional<Line> line_of_most(const RecordedCases& cases, const CurveOptions& options) {
  const Shapes& shapes = cases.shapes;
  std::vector<Lengths> all;
  std::vector<Size> peaks;
  const std::size_t searched = std::min(shapes.count(), kMaxSearched);
  for (std::size_t i = 0; i < searched; ++i) {
    const std::size_t shape = i * shapes.count() / searched;
    all.push_back(shapes.lengths(shape));
    peaks.push_back(cases.peaks[shape]);
  }
  std::optional<Line> best;
  std::pair<std::size_t, Size> best_score;
  for (const Lengths& from : all) {
    for (const Lengths& to : all) {
      std::vector<bool> grows(from.size(), false);
      bool shrinks = false;
      for (std::size_t i = 0; i < from.size(); ++i) {
        grows[i] = to[i] > from[i];
        shrinks = shrinks || to[i] < from[i];
      }
      if (shrinks) continue;
      const auto axis = horizontal_axis(shapes, grows, options.axis);
      if (!axis) continue;
      const Line line{*axis, from, to};
      std::pair<std::size_t, Size> score{0, 0};
      for (std::size_t k = 0; k < all.size(); ++k) {
        if (!line.has(all[k])) continue;
        ++score.first;
        score.second = std::max(score.second, peaks[k]);
      }
      if (best && score <= best_score) continue;
      best = line;
      best_score = score;
    }
  }
  return best;
}

std::optional<Line> find_line(const RecordedCases& cases, const CurveOptions& options) {
  if (!options.axis.empty() && cases.shapes.axis(options.axis) == nullptr)
    throw UsageError(fmt::format("{} has no integer axis '{}'", cases.variant, options.axis));
  return options.at.empty() ? line_of_most(cases, options) : line_to(cases, options);
}

// Evaluates the allocations that are live at the peak, at shapes on a line. Allocations with the same name
// and call site are one layer.
class PeakOnLine {
 public:
  PeakOnLine(const VariantFormulas& variant, const Line& line) : variant_(variant), line_(line) {
    std::map<AllocationKey, std::size_t> places;
    for (const ExplainedAllocation& one : variant.explanation.allocations) {
      const auto [place, is_new] = places.try_emplace(allocation_key(one), layers_.size());
      if (is_new) layers_.push_back({one.name, variant.site(one.where), one.phase, {}});
      layer_of_.push_back(place->second);
    }
  }

  [[nodiscard]] std::vector<CurveLayer> layers() const { return layers_; }

  struct Peak {
    Size bytes = 0;
    std::vector<Size> layers;
  };
  // Returns null if a formula has no value, or one that does not fit 64 bits.
  [[nodiscard]] std::optional<Peak> at(Size length) const {
    if (length > kMaxCurveLength) return std::nullopt;
    try {
      return peak(line_.at(length));
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  // Returns the largest length from `first` on whose peak is within the budget; null if `first` needs more,
  // or all lengths fit.
  [[nodiscard]] std::optional<Size> largest_within(Size budget, Size first) const {
    const Size lengths = largest([&](Size count) {
      const auto found = at(first - 1 + count);
      return found && found->bytes <= budget;
    });
    const Size last = first - 1 + lengths;
    return lengths == 0 || last == kMaxCurveLength ? std::nullopt : std::optional(last);
  }

  // Returns the names of allocations without a formula.
  [[nodiscard]] std::vector<std::string> unexplained() const {
    std::vector<std::string> names;
    for (const PeakMoment& moment : variant_.explanation.moments) {
      for (std::size_t i = 0; i < moment.terms.size(); ++i) {
        const std::string& name = variant_.explanation.allocations[moment.allocations[i]].name;
        if (!is_formula(moment.terms[i]) && std::ranges::find(names, name) == names.end())
          names.push_back(name);
      }
    }
    return names;
  }

 private:
  [[nodiscard]] Peak peak(const Lengths& values) const {
    Shapes shape = variant_.shapes().subset({});
    shape.add(values);
    Peak peak{0, std::vector<Size>(layers_.size(), 0)};
    for (const PeakMoment& moment : variant_.explanation.moments) {
      // If a moment does not occur, its formula is 0 although its terms are not.
      if (!moment.is_sum_of_terms && is_formula(moment.bytes) && evaluate(moment.bytes, shape, 0) == 0)
        continue;
      Peak one{0, std::vector<Size>(layers_.size(), 0)};
      for (std::size_t i = 0; i < moment.terms.size(); ++i) {
        if (!is_formula(moment.terms[i])) continue;
        const Size bytes = evaluate(moment.terms[i], shape, 0);
        Size& layer = one.layers[layer_of_[moment.allocations[i]]];
        layer = checked_add(layer, bytes);
        one.bytes = checked_add(one.bytes, bytes);
      }
      if (one.bytes > peak.bytes) peak = std::move(one);
    }
    return peak;
  }

  // A term without a formula has the name of its allocation instead of an axis.
  [[nodiscard]] bool is_formula(const Expression& term) const {
    return std::ranges::all_of(
        term.axes(), [&](const std::string& axis) { return variant_.shapes().axis(axis) != nullptr; });
  }

  const VariantFormulas& variant_;
  const Line& line_;
  std::vector<CurveLayer> layers_;
  std::vector<std::size_t> layer_of_;  // for each allocation
};

// Adds the recorded shapes on a line, without duplicates, by length.
void add_recorded(MemoryCurve& curve, const VariantFormulas& variant, const Line& line) {
  std::map<Size, Size> peaks;
  for (const RecordedCases& cases : variant.cases) {
    for (std::size_t shape = 0; shape < cases.shapes.count(); ++shape) {
      const Lengths values = cases.shapes.lengths(shape);
      if (line.has(values)) peaks.emplace(values[line.axis], cases.peaks[shape]);
    }
  }
  for (const auto& [length, bytes] : peaks) {
    curve.recorded.add(line.at(length));
    curve.recorded_peak.push_back(bytes);
  }
}

// Adds lengths from `first` to `last`. Steps are a power of two, so that all lengths are odd or even like
// `last`.
void add_steps(std::set<Size>& lengths, Size first, Size last) {
  Size step = 1;
  while ((last - first) / step > kMaxCurveShapes) step *= 2;
  for (Size length = last; length > first; length -= step) lengths.insert(length);
}

}  // namespace

std::optional<MemoryCurve> memory_curve(const VariantFormulas& variant, const CurveOptions& options) {
  const RecordedCases& cases = variant.cases.front();
  const auto line = find_line(cases, options);
  if (variant.explanation.moments.empty() || !line) return std::nullopt;
  const PeakOnLine evaluated(variant, *line);
  const std::size_t axis = line->axis;

  MemoryCurve curve;
  curve.axis = variant.shapes().axes[axis].name;
  curve.shapes = variant.shapes().subset({});
  curve.recorded = variant.shapes().subset({});
  curve.layers = evaluated.layers();
  curve.unexplained = evaluated.unexplained();
  curve.budget_bytes = options.budget_bytes;
  add_recorded(curve, variant, *line);

  const Lengths& recorded = curve.recorded.axes[axis].values;
  Size last = options.at.empty() ? checked_multiply(kReach, recorded.back()) : line->to[axis];
  const Size first = recorded.empty() ? std::max<Size>(last / kMaxCurveShapes, 1) : recorded.front();
  std::optional<Size> fitting;
  if (options.budget_bytes) {
    fitting = evaluated.largest_within(*options.budget_bytes, first);
    // Slightly further, so that the curve visibly crosses the budget.
    if (fitting)
      last = std::max(options.at.empty() ? Size{0} : last, *fitting + std::max<Size>(*fitting / 12, 1));
  }
  if (!recorded.empty()) last = std::max(last, recorded.back());

  std::set<Size> lengths_on_curve(recorded.begin(), recorded.end());
  lengths_on_curve.insert(first);
  add_steps(lengths_on_curve, first, last);
  if (!recorded.empty()) add_steps(lengths_on_curve, first, recorded.back());
  if (fitting) lengths_on_curve.insert(*fitting);
  for (const Size length : lengths_on_curve) {
    const auto peak = evaluated.at(length);
    if (!peak) break;
    if (fitting && length == *fitting) curve.within_budget = curve.peak.size();
    curve.shapes.add(line->at(length));
    curve.peak.push_back(peak->bytes);
    for (std::size_t layer = 0; layer < curve.layers.size(); ++layer)
      curve.layers[layer].bytes.push_back(peak->layers[layer]);
  }
  std::erase_if(curve.layers, [](const CurveLayer& layer) {
    return std::ranges::all_of(layer.bytes, [](Size bytes) { return bytes == 0; });
  });
  return curve;
}

std::vector<Parameters> shapes_on_curve(const RecordedCases& cases, const CurveOptions& options) {
  std::vector<Parameters> shapes;
  if (options.at.empty()) return shapes;
  const auto line = find_line(cases, options);
  if (!line) return shapes;
  const std::size_t largest = largest_shape(cases);
  // The largest length at which no axis exceeds its recorded values.
  Size last = line->to[line->axis];
  for (std::size_t axis = 0; axis < line->to.size(); ++axis) {
    if (line->to[axis] == line->from[axis]) continue;
    const Size longest = std::ranges::max(cases.shapes.axes[axis].values);
    last = std::min(last, checked_multiply(longest, line->to[line->axis]) / line->to[axis]);
  }
  std::set<Lengths> recorded;
  for (std::size_t shape = 0; shape < cases.shapes.count(); ++shape)
    recorded.insert(cases.shapes.lengths(shape));
  for (std::size_t i = 1; i <= kRecordedOnCurve; ++i) {
    const Lengths values = line->at(last * static_cast<Size>(i) / static_cast<Size>(kRecordedOnCurve));
    if (values[line->axis] < 1 || !recorded.insert(values).second) continue;
    Parameters shape = cases.observations[largest]->axes;
    for (std::size_t axis = 0; axis < values.size(); ++axis) {
      // `itemsize` is not an axis of the variant: its dtype stays that of the largest shape.
      if (shape.find(cases.shapes.axes[axis].name) != nullptr)
        shape.set(cases.shapes.axes[axis].name, values[axis]);
    }
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

}  // namespace peakmark
