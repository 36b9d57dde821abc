#include "analyse/explain/search/conditions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <vector>

namespace peakmark {
namespace {

// Minimum number of shapes on each side of a condition.
constexpr std::ptrdiff_t kMinShapes = 2;

Size remainder(Size value, Size divisor) {
  const Size rest = value % divisor;
  return rest < 0 ? rest + divisor : rest;
}

class ConditionSearch {
 public:
  ConditionSearch(const Shapes& shapes, const std::vector<bool>& holds) : shapes_(shapes), holds_(holds) {}

  [[nodiscard]] std::optional<std::string> find() const {
    for (const auto search : {&ConditionSearch::value, &ConditionSearch::multiple,
                              &ConditionSearch::comparison, &ConditionSearch::threshold}) {
      for (const Shapes::Axis& axis : shapes_.axes) {
        if (auto found = (this->*search)(axis)) return found;
      }
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] bool is(const std::function<bool(std::size_t)>& condition) const {
    for (std::size_t shape = 0; shape < holds_.size(); ++shape) {
      if (condition(shape) != holds_[shape]) return false;
    }
    return true;
  }

  // The values of an axis with the condition true and false.
  struct Sides {
    std::set<Size> with;
    std::set<Size> without;
    [[nodiscard]] bool have_several() const { return with.size() > 1 && without.size() > 1; }
  };
  [[nodiscard]] Sides sides(const Shapes::Axis& axis) const {
    Sides both;
    for (std::size_t shape = 0; shape < holds_.size(); ++shape)
      (holds_[shape] ? both.with : both.without).insert(axis.values[shape]);
    return both;
  }

  // On an axis with few values, such as a flag, one value decides.
  [[nodiscard]] std::optional<std::string> value(const Shapes::Axis& axis) const {
    const auto [with, without] = sides(axis);
    const auto is_one_of = [](const std::set<Size>& one, const std::set<Size>& others) {
      return one.size() == 1 && !others.contains(*one.begin()) && (*one.begin() == 0 || others.size() == 1);
    };
    if (is_one_of(with, without)) return fmt::format("{} is {}", axis.name, *with.begin());
    if (is_one_of(without, with)) return fmt::format("{} is not {}", axis.name, *without.begin());
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::string> multiple(const Shapes::Axis& axis) const {
    if (!sides(axis).have_several()) return std::nullopt;
    for (const Size divisor : {2, 3, 4, 8, 16, 32, 64, 128, 256, 512}) {
      for (const bool wanted : {false, true}) {
        if (!is([&](std::size_t shape) { return (remainder(axis.values[shape], divisor) == 0) == wanted; }))
          continue;
        if (divisor == 2) return fmt::format("{} is {}", axis.name, wanted ? "even" : "odd");
        return fmt::format("{} is {} multiple of {}", axis.name, wanted ? "a" : "no", divisor);
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::string> comparison(const Shapes::Axis& one) const {
    if (!sides(one).have_several()) return std::nullopt;
    using Compare = bool (*)(Size, Size);
    static constexpr std::array<std::pair<const char*, Compare>, 5> kComparisons{
        {{">", [](Size a, Size b) { return a > b; }},
         {">=", [](Size a, Size b) { return a >= b; }},
         {"<", [](Size a, Size b) { return a < b; }},
         {"<=", [](Size a, Size b) { return a <= b; }},
         {"is not a multiple of", [](Size a, Size b) { return remainder(a, std::max<Size>(b, 1)) != 0; }}}};
    for (const Shapes::Axis& other : shapes_.axes) {
      if (&one == &other) continue;
      for (const Size factor : {1, 2, 3, 4}) {
        for (const auto& [text, compare] : kComparisons) {
          if (!is([&, compare = compare](std::size_t shape) {
                return compare(one.values[shape], factor * other.values[shape]);
              }))
            continue;
          return fmt::format("{} {} {}{}", one.name, text, factor == 1 ? "" : fmt::format("{}*", factor),
                             other.name);
        }
      }
    }
    return std::nullopt;
  }

  // The limit is known only to be between two recorded values, so both are in the text.
  [[nodiscard]] std::optional<std::string> threshold(const Shapes::Axis& axis) const {
    const auto [with, without] = sides(axis);
    const Size with_min = *with.begin();
    const Size with_max = *with.rbegin();
    const Size without_min = *without.begin();
    const Size without_max = *without.rbegin();
    if (with_min > without_max)
      return fmt::format("{} >= {} (not at {} and below)", axis.name, with_min, without_max);
    if (with_max < without_min)
      return fmt::format("{} <= {} (not at {} and above)", axis.name, with_max, without_min);
    return std::nullopt;
  }

  const Shapes& shapes_;
  const std::vector<bool>& holds_;
};

}  // namespace

std::optional<std::string> find_condition(const Shapes& shapes, const std::vector<bool>& holds) {
  if (std::ranges::find(holds, false) == holds.end()) return "";
  // Too many conditions fit a single shape.
  const auto with = std::ranges::count(holds, true);
  const auto without = std::ranges::count(holds, false);
  if (with < kMinShapes || without < kMinShapes) return std::nullopt;
  return ConditionSearch(shapes, holds).find();
}

std::optional<std::string> value_between(const Shapes& shapes, const std::vector<bool>& holds) {
  for (const Shapes::Axis& axis : shapes.axes) {
    std::vector<Size> with;
    std::vector<Size> without;
    for (std::size_t shape = 0; shape < holds.size(); ++shape)
      (holds[shape] ? with : without).push_back(axis.values[shape]);
    if (with.empty() || without.empty()) return std::nullopt;
    const auto [with_min, with_max] = std::ranges::minmax(with);
    const auto [without_min, without_max] = std::ranges::minmax(without);
    const Size below = with_min > without_max ? without_max : with_max;
    const Size above = with_min > without_max ? with_min : without_min;
    if (above - below > 1) return fmt::format("{}={}", axis.name, below + (above - below) / 2);
  }
  return std::nullopt;
}

}  // namespace peakmark
