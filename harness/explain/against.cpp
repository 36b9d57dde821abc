#include "explain/against.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>

#include "base/error.hpp"
#include "base/text.hpp"
#include "explain/conditions.hpp"
#include "explain/formula_algebra.hpp"
#include "ledger/sequence_steps.hpp"

namespace peakmark {
namespace {

using Kind = EstimateCause::Kind;
using Operation = Expression::Operation;
using Vector = std::vector<Size>;  // a number of bytes at each shape

// Some of the mistakes that estimators make, each as a change of the bytes of one allocation.
struct Mistake {
  EstimateCause cause;
  Vector difference;  // recorded less estimated bytes
  int rank = 0;       // simple explanations first
};

struct VectorHash {
  std::size_t operator()(const Vector& values) const {
    std::size_t hash = values.size();
    for (const Size value : values)
      hash = (hash ^ std::hash<Size>{}(value)) * 0x9e3779b97f4a7c15 + (hash >> 31);
    return hash;
  }
};

bool is_zero(const Vector& values) {
  return std::ranges::all_of(values, [](Size value) { return value == 0; });
}

Vector subtract(const Vector& one, const Vector& other) {
  Vector result(one.size());
  for (std::size_t i = 0; i < one.size(); ++i) result[i] = checked_subtract(one[i], other[i]);
  return result;
}

class CauseSearch {
 public:
  CauseSearch(const Explanation& explanation, const RecordedCases& cases, const EstimatedCases& estimated)
      : explanation_(explanation), cases_(cases), estimated_(estimated) {
    for (std::size_t shape = 0; shape < cases.shapes.count(); ++shape) {
      if (estimated.bytes[shape]) shapes_.push_back(shape);
    }
    for (const Shapes::Axis& axis : cases.shapes.axes)
      axes_.axes.push_back({axis.name, answered(axis.values)});
    find_live();
  }

  std::vector<EstimateCause> find() {
    if (shapes_.empty()) return {};
    Vector difference;
    for (const std::size_t shape : shapes_)
      difference.push_back(checked_subtract(cases_.peaks[shape], *estimated_.bytes[shape]));
    if (!estimated_.terms.empty()) compare_terms(difference);
    if (!is_zero(difference)) explain_difference(difference);
    return std::move(causes_);
  }

 private:
  // Bytes at the peak of one allocation of the program: of all groups with its name, phase and place.
  struct Live {
    const ExplainedAllocation* allocation;
    Vector bytes;
    std::optional<Expression> formula;
  };

  template <typename Values>
  [[nodiscard]] Values answered(const Values& values) const {
    Values result;
    for (const std::size_t shape : shapes_) result.push_back(values[shape]);
    return result;
  }

  void find_live() {
    // Several allocations of one name and place are one cause, even in different phases.
    std::map<AllocationKey, std::size_t> index;
    for (std::size_t row = 0; row < shapes_.size(); ++row) {
      const AllocationSequence& sequence = cases_.sequence(shapes_[row]);
      for (const std::size_t i : live_at_peak(sequence)) {
        const SequencedAllocation* const one = &sequence[i];
        const auto [found, is_new] = index.try_emplace(allocation_key(*one), live_.size());
        if (is_new) {
          const auto explained =
              std::ranges::find(explanation_.allocations, phased_key(*one), phased_key<ExplainedAllocation>);
          live_.push_back({&*explained, Vector(shapes_.size(), 0), std::nullopt});
        }
        Size& bytes = live_[found->second].bytes[row];
        bytes = checked_add(bytes, one->bytes);
      }
    }
    for (Live& one : live_) one.formula = formula_where_live(one.bytes);
  }

  // The formula of bytes at the shapes where they are not 0.
  std::optional<Expression> formula_where_live(const Vector& bytes) const {
    std::vector<std::size_t> live;
    Vector values;
    for (std::size_t row = 0; row < bytes.size(); ++row) {
      if (bytes[row] == 0) continue;
      live.push_back(shapes_[row]);
      values.push_back(bytes[row]);
    }
    return cases_.fitters->fit(live, values).formula;
  }

  // The value of a formula at each shape where `bytes` is not 0, else 0.
  [[nodiscard]] std::optional<Vector> values(const Expression& formula, const Vector& bytes) const {
    Vector result(bytes.size(), 0);
    try {
      for (std::size_t row = 0; row < bytes.size(); ++row) {
        if (bytes[row] != 0) result[row] = evaluate(formula, axes_, row);
      }
    } catch (const Error&) {
      return std::nullopt;
    }
    return result;
  }

  // ---- estimators that name their terms

  void compare_terms(Vector& difference) {
    std::set<std::string> compared;
    for (const auto& [name, all] : estimated_.terms) {
      const Vector bytes = answered(all);
      Vector recorded(bytes.size(), 0);
      const Live* match = nullptr;
      for (const Live& one : live_) {
        if (one.allocation->name != name) continue;
        match = &one;
        for (std::size_t row = 0; row < bytes.size(); ++row) recorded[row] += one.bytes[row];
      }
      compared.insert(name);
      const Vector off = subtract(recorded, bytes);
      if (is_zero(off)) continue;
      difference = subtract(difference, off);
      if (match == nullptr) {
        add_cause(Kind::extra, name, nullptr, off, "no allocation has this name");
        continue;
      }
      // Of the mistakes with this allocation the one that explains the difference.
      const auto mistakes = mistakes_with(*match);
      const auto found =
          std::ranges::find_if(mistakes, [&](const Mistake& one) { return one.difference == off; });
      if (found != mistakes.end()) {
        causes_.push_back(found->cause);
      } else {
        add_cause(is_zero(bytes) ? Kind::missing : Kind::wrong, name, match->allocation, off, "");
      }
    }
    for (const Live& one : live_) {
      if (compared.contains(one.allocation->name)) continue;
      difference = subtract(difference, one.bytes);
      add_cause(Kind::missing, one.allocation->name, one.allocation, one.bytes, "");
    }
    pair_renamed();
  }

  // An extra term and a missing allocation of the same bytes are one thing with two names.
  void pair_renamed() {
    for (auto extra = causes_.begin(); extra != causes_.end();) {
      if (extra->kind != Kind::extra) {
        ++extra;
        continue;
      }
      const auto missing = std::ranges::find_if(causes_, [&](const EstimateCause& one) {
        return one.kind == Kind::missing && one.recorded == negated(extra->recorded);
      });
      if (missing == causes_.end()) {
        ++extra;
        continue;
      }
      const bool is_later = missing > extra;
      const auto at = extra - causes_.begin();
      causes_.erase(missing);
      extra = causes_.erase(causes_.begin() + at - (is_later ? 0 : 1));
    }
  }

  static Vector negated(Vector values) {
    for (Size& value : values) value = -value;
    return values;
  }

  // ---- estimators that answer a number of bytes

  void explain_difference(Vector difference) {
    std::vector<Mistake> mistakes;
    for (const Live& one : live_) std::ranges::move(mistakes_with(one), std::back_inserter(mistakes));
    std::ranges::stable_sort(mistakes, {}, &Mistake::rank);
    std::unordered_map<Vector, std::size_t, VectorHash> by_difference;
    for (std::size_t i = 0; i < mistakes.size(); ++i) by_difference.try_emplace(mistakes[i].difference, i);

    for (std::size_t count = 1; count <= kMaxCauses; ++count) {
      std::vector<std::size_t> chosen;
      if (!choose(mistakes, by_difference, difference, count, 0, chosen)) continue;
      for (const std::size_t i : chosen) causes_.push_back(with_alternatives(mistakes, chosen, i));
      return;
    }
    // No allocation explains all of it. A constant beside one mistake is looked for before the whole is left
    // without a name.
    for (const Mistake& one : mistakes) {
      const Vector rest = subtract(difference, one.difference);
      if (std::ranges::adjacent_find(rest, std::not_equal_to{}) != rest.end()) continue;
      causes_.push_back(one.cause);
      difference = rest;
      break;
    }
    const bool is_too_high = std::ranges::all_of(difference, [](Size value) { return value <= 0; });
    add_cause(is_too_high ? Kind::extra : Kind::missing, "", nullptr, difference,
              "no allocation has these bytes");
  }

  // Chooses `count` mistakes that add up to the difference. The last is looked up, not tried.
  bool choose(const std::vector<Mistake>& mistakes,
              const std::unordered_map<Vector, std::size_t, VectorHash>& by_difference, const Vector& rest,
              std::size_t count, std::size_t first, std::vector<std::size_t>& chosen) const {
    if (count == 1) {
      const auto found = by_difference.find(rest);
      if (found == by_difference.end() || !has_other_allocation(mistakes, chosen, found->second))
        return false;
      chosen.push_back(found->second);
      return true;
    }
    for (std::size_t i = first; i < mistakes.size(); ++i) {
      if (!has_other_allocation(mistakes, chosen, i)) continue;
      chosen.push_back(i);
      if (choose(mistakes, by_difference, subtract(rest, mistakes[i].difference), count - 1, i + 1, chosen))
        return true;
      chosen.pop_back();
    }
    return false;
  }
  static constexpr std::size_t kMaxCauses = 3;

  // Allocations of the same bytes cannot be distinguished by a number: the cause names the others.
  static EstimateCause with_alternatives(const std::vector<Mistake>& mistakes,
                                         const std::vector<std::size_t>& chosen, std::size_t which) {
    EstimateCause cause = mistakes[which].cause;
    std::string others;
    for (std::size_t i = 0; i < mistakes.size(); ++i) {
      const EstimateCause& other = mistakes[i].cause;
      if (std::ranges::find(chosen, i) != chosen.end() ||
          mistakes[i].difference != mistakes[which].difference || other.kind != cause.kind ||
          other.reason != cause.reason)
        continue;
      others += (others.empty() ? "" : ", ") + other.allocation;
    }
    if (!others.empty())
      cause.reason += fmt::format("{}the same bytes as {}", cause.reason.empty() ? "" : "; ", others);
    return cause;
  }

  static bool has_other_allocation(const std::vector<Mistake>& mistakes,
                                   const std::vector<std::size_t>& chosen, std::size_t next) {
    return std::ranges::none_of(chosen, [&](std::size_t one) {
      return mistakes[one].cause.allocation == mistakes[next].cause.allocation &&
             mistakes[one].cause.where == mistakes[next].cause.where &&
             mistakes[one].cause.process == mistakes[next].cause.process;
    });
  }

  // All ways in which an estimator may be wrong about an allocation.
  [[nodiscard]] std::vector<Mistake> mistakes_with(const Live& live) const {
    std::vector<Mistake> mistakes;
    const auto add = [&](Kind kind, const Vector& difference, int rank, std::string reason) {
      if (is_zero(difference)) return;
      mistakes.push_back(
          {make_cause(kind, live.allocation->name, live.allocation, difference, std::move(reason)),
           difference, rank});
    };
    // Inputs and outputs are forgotten less often than what a program allocates besides.
    const bool is_argument = live.allocation->phase == "inputs" || live.allocation->phase == "outputs";
    add(Kind::missing, live.bytes, is_argument ? 1 : 0, "");
    add(Kind::extra, negated(live.bytes), 1, "counted twice");
    for (const Size factor : {2, 4, 8}) {
      if (std::ranges::all_of(live.bytes, [&](Size bytes) { return bytes % factor == 0; })) {
        Vector difference = live.bytes;
        for (Size& bytes : difference) bytes -= bytes / factor;
        add(Kind::wrong, difference, 2, fmt::format("counted with 1/{} of its element size", factor));
      }
      Vector difference = live.bytes;
      for (Size& bytes : difference) bytes = checked_multiply(bytes, 1 - factor);
      add(Kind::wrong, difference, 3, fmt::format("counted with {} times its element size", factor));
    }
    for (const Shapes::Axis& axis : axes_.axes) add_per_axis(live, axis, add);
    if (live.formula) {
      const Expression exact = without_rounding(*live.formula);
      if (const auto plain = values(exact, live.bytes)) {
        const std::size_t known = mistakes.size();
        add(Kind::wrong, subtract(live.bytes, *plain), 2, "its rounding is left out");
        if (mistakes.size() > known)
          mistakes.back().cause.bytes =
              Expression::add({*live.formula, Expression::multiply({Expression(Size{-1}), exact})});
      }
    }
    return mistakes;
  }

  template <typename Add>
  void add_per_axis(const Live& live, const Shapes::Axis& axis, const Add& add) const {
    Vector once(live.bytes.size());
    Vector often(live.bytes.size());
    bool divides = true;
    try {
      for (std::size_t row = 0; row < once.size(); ++row) {
        const Size value = axis.values[row];
        divides = divides && value > 0 && live.bytes[row] % value == 0;
        once[row] = divides ? live.bytes[row] - live.bytes[row] / value : 0;
        often[row] = checked_subtract(live.bytes[row], checked_multiply(live.bytes[row], value));
      }
    } catch (const OverflowError&) {
      return;
    }
    if (divides) add(Kind::wrong, once, 2, fmt::format("counted once instead of {} times", axis.name));
    add(Kind::wrong, often, 3, fmt::format("counted {} times instead of once", axis.name));
  }

  // ---- causes

  [[nodiscard]] EstimateCause make_cause(Kind kind, const std::string& name,
                                         const ExplainedAllocation* allocation, const Vector& difference,
                                         std::string reason) const {
    EstimateCause cause;
    cause.kind = kind;
    cause.allocation = name;
    if (allocation != nullptr) {
      cause.phase = allocation->phase;
      cause.where = allocation->where;
      cause.process = allocation->process;
    }
    cause.recorded = difference;
    cause.is_too_high = std::ranges::all_of(difference, [](Size value) { return value <= 0; });
    cause.reason = std::move(reason);
    return cause;
  }

  void add_cause(Kind kind, const std::string& name, const ExplainedAllocation* allocation,
                 const Vector& difference, std::string reason) {
    causes_.push_back(make_cause(kind, name, allocation, difference, std::move(reason)));
  }

 public:
  // Formulas and conditions are found last, for the causes that are returned.
  void complete(EstimateCause& cause) const {
    Vector magnitude = cause.recorded;
    if (cause.is_too_high) magnitude = negated(std::move(magnitude));
    if (!cause.bytes) cause.bytes = formula_where_live(magnitude);
    std::vector<bool> holds;
    holds.reserve(magnitude.size());
    for (const Size value : magnitude) holds.push_back(value != 0);
    const auto condition = find_condition(axes_, holds);
    cause.condition = condition
                          ? *condition
                          : fmt::format("at {} of {} shapes", std::ranges::count(holds, true), holds.size());
    cause.recorded = std::move(magnitude);
  }

 private:
  const Explanation& explanation_;
  const RecordedCases& cases_;
  const EstimatedCases& estimated_;
  std::vector<std::size_t> shapes_;  // that the estimator answered
  Shapes axes_;                      // of these
  std::vector<Live> live_;
  std::vector<EstimateCause> causes_;
};

}  // namespace

std::vector<EstimateCause> find_causes(const Explanation& explanation, const RecordedCases& cases,
                                       const EstimatedCases& estimated) {
  if (estimated.bytes.size() != cases.shapes.count())
    throw UsageError(fmt::format("{} estimates for {} shapes: give one estimate a shape",
                                 estimated.bytes.size(), cases.shapes.count()));
  CauseSearch search(explanation, cases, estimated);
  std::vector<EstimateCause> causes = search.find();
  for (EstimateCause& cause : causes) search.complete(cause);
  return causes;
}

}  // namespace peakmark
