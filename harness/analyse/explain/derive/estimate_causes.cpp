#include "analyse/explain/derive/estimate_causes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "analyse/explain/derive/mistake_search.hpp"
#include "analyse/explain/search/conditions.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace peakmark {
namespace {

using Kind = EstimateCause::Kind;
using Equal = std::vector<EqualAllocations>;

constexpr std::size_t kMinCompared = 3;  // shapes: with fewer, some cause fits any bytes
constexpr const char* kNoCause = "no cause found";

class CauseSearch {
 public:
  CauseSearch(const RecordedCases& cases, const EstimatedCases& estimated)
      : cases_(cases), estimated_(estimated) {
    for (std::size_t shape = 0; shape < cases.shapes.count(); ++shape) {
      if (estimated.bytes[shape]) shapes_.push_back(shape);
    }
    axes_ = cases.shapes.subset(shapes_);
    live_ = live_allocations(cases);
  }

  std::vector<EstimateCause> find() {
    if (shapes_.empty()) return {};
    ShapeSizes difference;
    for (const std::size_t shape : shapes_)
      difference.push_back(checked_subtract(cases_.peaks[shape], *estimated_.bytes[shape]));
    const ShapeSizes whole = difference;
    if (!estimated_.terms.empty()) compare_terms(difference);
    if (!is_zero(difference)) explain_bytes(difference);
    ShapeSizes sum(difference.size(), 0);
    for (const EstimateCause& cause : causes_) sum = add(sum, cause.recorded);
    if (sum != whole) {  // causes that do not add up are wrong
      causes_.clear();
      add_cause(Kind::difference, kNoCause, whole);
    }
    for (EstimateCause& cause : causes_) complete(cause);
    return std::move(causes_);
  }

 private:
  template <typename Values>
  [[nodiscard]] Values answered(const Values& values) const {
    Values result;
    for (const std::size_t shape : shapes_) result.push_back(values[shape]);
    return result;
  }

  // Formulas are those of all shapes; sizes are those of the shapes for which the estimator answered.
  [[nodiscard]] Equal equal(const std::vector<LiveAllocations>& live) const {
    Equal all = equal_allocations(live, cases_);
    for (EqualAllocations& one : all) {
      one.each = answered(one.each);
      one.count = answered(one.count);
      for (LiveAllocations& member : one.members) {
        member.each = answered(member.each);
        member.count = answered(member.count);
      }
    }
    std::erase_if(all, [](const EqualAllocations& one) { return is_zero(one.count); });
    return all;
  }

  // ---- estimators that name their terms

  void compare_terms(ShapeSizes& difference) {
    for (const auto& [name, all] : estimated_.terms) {
      const ShapeSizes bytes = answered(all);
      std::vector<LiveAllocations> named;
      ShapeSizes recorded(bytes.size(), 0);
      for (const LiveAllocations& one : live_) {
        if (one.name != name) continue;
        named.push_back(one);
        recorded = add(recorded, answered(multiply(one.count, one.each)));
      }
      const ShapeSizes off = subtract(recorded, bytes);
      if (is_zero(off)) continue;
      difference = subtract(difference, off);
      if (named.empty()) {
        add_cause(Kind::extra, "no allocation has this name", off).allocation = name;
        continue;
      }
      const Equal of_name = equal(named);
      const Mistakes found = find_mistakes(of_name, axes_, off).mistakes;
      for (const Mistake& one : found) add_mistake(one, of_name);
      if (found.empty()) set_place(add_cause(Kind::difference, kNoCause, off), named.front());
    }
    for (const LiveAllocations& one : live_) {
      if (estimated_.terms.contains(one.name)) continue;
      for (const EqualAllocations& missing : equal({one})) {
        const ShapeSizes bytes = multiply(missing.count, missing.each);
        difference = subtract(difference, bytes);
        add_mistake({Kind::missing, 0, missing.count, bytes, 0, "", missing.formula}, {missing});
      }
    }
    pair_renamed();
  }

  // An extra term and a missing allocation with the same bytes are the same thing with two names.
  void pair_renamed() {
    for (std::size_t i = 0; i < causes_.size();) {
      const auto missing = std::ranges::find_if(causes_, [&](const EstimateCause& one) {
        return causes_[i].kind == Kind::extra && one.kind == Kind::missing &&
               one.recorded == negated(causes_[i].recorded);
      });
      if (missing == causes_.end()) {
        ++i;
        continue;
      }
      const auto other = static_cast<std::size_t>(missing - causes_.begin());
      causes_.erase(causes_.begin() + static_cast<std::ptrdiff_t>(std::max(i, other)));
      causes_.erase(causes_.begin() + static_cast<std::ptrdiff_t>(std::min(i, other)));
      i -= other < i ? 1 : 0;
    }
  }

  // ---- estimators that answer only a number of bytes

  void explain_bytes(const ShapeSizes& difference) {
    if (shapes_.size() < kMinCompared) {
      add_cause(Kind::difference, kNoCause, difference);
      return;
    }
    const Equal all = equal(live_);
    ShapeSizes estimated;
    for (const std::size_t shape : shapes_) estimated.push_back(*estimated_.bytes[shape]);
    const FoundMistakes found = find_mistakes(all, axes_, difference, estimated);
    for (const Mistake& one : found.mistakes) add_mistake(one, all);
    if (found.is_overflow) {
      add_cause(Kind::wrong, "computed in 32 bits: bytes from 2³² on are lost", found.rest);
    } else if (!is_zero(found.rest)) {
      add_cause(Kind::difference, kNoCause, found.rest);
    }
  }

  // ---- causes

  EstimateCause& add_cause(Kind kind, std::string reason, ShapeSizes difference) {
    EstimateCause& cause = causes_.emplace_back();
    cause.kind = kind;
    cause.reason = std::move(reason);
    cause.recorded = std::move(difference);
    return cause;
  }

  static void set_place(EstimateCause& cause, const LiveAllocations& one) {
    cause.allocation = one.name;
    cause.phase = one.phase;
    cause.where = one.where;
    cause.process = one.process;
  }

  void add_mistake(const Mistake& mistake, const Equal& all) {
    if (mistake.of == Mistake::kAll) {
      add_cause(mistake.kind, mistake.reason, mistake.difference);
      return;
    }
    const EqualAllocations& equal = all[mistake.of];
    // If all of them are missing, or all are wrong, it is clear which ones are affected.
    if (mistake.kind != Kind::extra && mistake.copies == equal.count && equal.members.size() > 1) {
      for (const LiveAllocations& one : equal.members) {
        ShapeSizes part(one.count.size(), 0);
        for (std::size_t shape = 0; shape < part.size(); ++shape) {
          if (one.count[shape] != 0)
            part[shape] = mistake.difference[shape] / equal.count[shape] * one.count[shape];
        }
        EstimateCause& cause = add_cause(mistake.kind, mistake.reason, std::move(part));
        set_place(cause, one);
        set_copies(cause, one.count, one.count, equal.formula);
        set_bytes(cause, mistake.each, cause.copies);
      }
      return;
    }
    const auto first = std::ranges::find_if_not(equal.members, &LiveAllocations::is_argument);
    const LiveAllocations& named = first == equal.members.end() ? equal.members.front() : *first;
    EstimateCause& cause = add_cause(mistake.kind, mistake.reason, mistake.difference);
    set_place(cause, named);
    set_bytes(cause, mistake.each, fixed_number(mistake.copies));
    if (mistake.kind != Kind::extra) set_copies(cause, mistake.copies, equal.count, equal.formula);
    for (const LiveAllocations& one : equal.members) {
      if (&one != &named) cause.same_bytes.push_back({one.name, one.where});
    }
  }

  static void set_copies(EstimateCause& cause, const ShapeSizes& copies, const ShapeSizes& count,
                         const std::optional<Expression>& each) {
    cause.copies = fixed_number(copies);
    cause.of = fixed_number(count);
    if (cause.copies == 0) cause.of = 0;
    cause.each = each;
  }

  // Sets the formula of a difference that is too complex to be found from the numbers.
  static void set_bytes(EstimateCause& cause, const std::optional<Expression>& each, Size copies) {
    if (each && copies > 0) cause.bytes = Expression::multiply({Expression(copies), *each});
  }

  // Finds formulas and conditions, at the end, for the returned causes only.
  void complete(EstimateCause& cause) const {
    cause.is_too_high = std::ranges::all_of(cause.recorded, [](Size value) { return value <= 0; });
    cause.is_mixed =
        !cause.is_too_high && std::ranges::any_of(cause.recorded, [](Size value) { return value < 0; });
    if (cause.is_too_high) cause.recorded = negated(std::move(cause.recorded));
    const std::optional<Expression> known = cause.bytes;
    cause.bytes = formula_where_not_zero(cause.recorded, cases_, shapes_);
    if (!cause.bytes && known) {
      const Expression formula =
          cause.is_too_high ? Expression::multiply({Expression(Size{-1}), *known}) : *known;
      if (is_exact_where_not_zero(formula, cause.recorded)) cause.bytes = formula;
    }
    if (cause.bytes && evaluate(*cause.bytes, axes_) == cause.recorded) return;
    std::vector<bool> holds;
    holds.reserve(cause.recorded.size());
    for (const Size value : cause.recorded) holds.push_back(value != 0);
    const auto condition = find_condition(axes_, holds);
    cause.condition = condition
                          ? *condition
                          : fmt::format("at {} of {} shapes", std::ranges::count(holds, true), holds.size());
  }

  [[nodiscard]] bool is_exact_where_not_zero(const Expression& formula, const ShapeSizes& sizes) const {
    try {
      for (std::size_t shape = 0; shape < sizes.size(); ++shape) {
        if (sizes[shape] != 0 && evaluate(formula, axes_, shape) != sizes[shape]) return false;
      }
    } catch (const Error&) {
      return false;
    }
    return true;
  }

  const RecordedCases& cases_;
  const EstimatedCases& estimated_;
  std::vector<std::size_t> shapes_;    // shapes for which the estimator answered
  Shapes axes_;                        // axes of these shapes
  std::vector<LiveAllocations> live_;  // at all shapes
  std::vector<EstimateCause> causes_;
};

}  // namespace

std::string_view to_string(EstimateCause::Kind kind) {
  constexpr std::array<std::string_view, 4> kNames{"missing", "extra", "wrong", "difference"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::vector<EstimateCause> find_causes(const RecordedCases& cases, const EstimatedCases& estimated) {
  if (estimated.bytes.size() != cases.shapes.count())
    throw UsageError(fmt::format("{} estimates for {} shapes: give one estimate per shape",
                                 estimated.bytes.size(), cases.shapes.count()));
  return CauseSearch(cases, estimated).find();
}

namespace {

const EstimateObservation* find_answer(const Observation& observation, const std::string& name) {
  const auto& own = observation.estimate;
  if (own && own->is_asked && (name.empty() || own->estimator == name)) return &*own;
  const auto other = std::ranges::find_if(observation.other_estimates, [&](const EstimateObservation& one) {
    return one.is_asked && one.estimator == name;
  });
  return other == observation.other_estimates.end() ? nullptr : &*other;
}

bool is_same(const EstimateCause& one, const EstimateCause& other) {
  return one.kind == other.kind && one.allocation == other.allocation && one.where == other.where &&
         one.process == other.process && one.bytes == other.bytes && one.is_too_high == other.is_too_high &&
         one.condition == other.condition && one.reason == other.reason && one.copies == other.copies &&
         one.of == other.of && one.same_bytes == other.same_bytes;
}

}  // namespace

EstimatedCases recorded_estimates(const RecordedCases& cases, const std::string& name) {
  EstimatedCases estimated;
  bool has_terms = true;
  for (std::size_t shape = 0; shape < cases.observations.size(); ++shape) {
    estimated.bytes.emplace_back();
    const EstimateObservation* const answer = find_answer(*cases.observations[shape], name);
    if (answer == nullptr) continue;
    if (answer->error) {
      estimated.errors.push_back(*answer->error);
      continue;
    }
    estimated.bytes.back() = answer->bytes_estimated;
    if (!answer->bytes_estimated) continue;
    has_terms = has_terms && !answer->terms.empty();
    for (const EstimateTerm& term : answer->terms) {
      auto& sizes = estimated.terms[term.name];
      sizes.resize(cases.observations.size(), 0);
      const Size of_slices = checked_multiply(term.per_slice_bytes, answer->slices_used);
      sizes[shape] = checked_add(sizes[shape], checked_add(of_slices, term.fixed_bytes));
    }
  }
  if (!has_terms) estimated.terms.clear();
  return estimated;
}

EstimatorFindings compare_estimator(const VariantFormulas& variant, const std::string& estimator,
                                    const std::vector<EstimatedCases>& estimated) {
  EstimatorFindings findings;
  findings.estimator = estimator;
  std::vector<std::string> errors;
  struct Found {
    EstimateCause cause;
    std::vector<std::string> words;
  };
  std::vector<Found> found;
  for (std::size_t i = 0; i < variant.cases.size(); ++i) {
    const RecordedCases& cases = variant.cases[i];
    for (std::size_t shape = 0; shape < cases.shapes.count(); ++shape) {
      if (!estimated.at(i).bytes[shape]) continue;
      ++findings.compared;
      if (*estimated[i].bytes[shape] != cases.peaks[shape]) ++findings.wrong;
    }
    errors.insert(errors.end(), estimated[i].errors.begin(), estimated[i].errors.end());
    for (EstimateCause& cause : find_causes(cases, estimated[i])) {
      const auto known =
          std::ranges::find_if(found, [&](const Found& one) { return is_same(one.cause, cause); });
      if (known != found.end()) {
        known->words.push_back(words_text(cases.words));
      } else {
        found.push_back({std::move(cause), {words_text(cases.words)}});
      }
    }
  }
  if (!errors.empty())
    findings.error =
        fmt::format("it failed on {}; the first: {}", quantity(errors.size(), "shape"), errors[0]);
  else if (findings.compared == 0)
    findings.error = "the run has no answers from it";
  for (Found& one : found) {
    if (one.words.size() < variant.cases.size()) {
      std::string words;
      for (const std::string& text : one.words) words += (words.empty() ? "" : " or ") + text;
      one.cause.condition = one.cause.condition.empty() ? words : words + " and " + one.cause.condition;
    }
    findings.causes.push_back(std::move(one.cause));
  }
  return findings;
}

}  // namespace peakmark
