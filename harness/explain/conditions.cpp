#include "explain/conditions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

namespace peakmark {
namespace {

using Values = std::vector<Size>;

Size remainder(Size value, Size divisor) {
  const Size rest = value % divisor;
  return rest < 0 ? rest + divisor : rest;
}

class ConditionSearch {
 public:
  ConditionSearch(const Shapes& shapes, const std::vector<bool>& holds) : shapes_(shapes), holds_(holds) {}

  [[nodiscard]] std::optional<std::string> find() const {
    for (const auto& axis : shapes_.axes) {
      if (auto found = multiple(axis)) return found;
    }
    for (const auto& one : shapes_.axes) {
      for (const auto& other : shapes_.axes) {
        if (&one == &other) continue;
        if (auto found = comparison(one, other)) return found;
      }
    }
    for (const auto& axis : shapes_.axes) {
      if (auto found = threshold(axis)) return found;
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

  [[nodiscard]] std::optional<std::string> multiple(const Shapes::Axis& axis) const {
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

  [[nodiscard]] std::optional<std::string> comparison(const Shapes::Axis& one,
                                                      const Shapes::Axis& other) const {
    for (const Size factor : {1, 2, 3, 4}) {
      const auto scaled = [&](std::size_t shape) { return factor * other.values[shape]; };
      const std::string right = factor == 1 ? other.name : fmt::format("{}*{}", factor, other.name);
      if (is([&](std::size_t shape) { return one.values[shape] > scaled(shape); }))
        return fmt::format("{} > {}", one.name, right);
      if (is([&](std::size_t shape) { return one.values[shape] >= scaled(shape); }))
        return fmt::format("{} >= {}", one.name, right);
      if (is([&](std::size_t shape) { return one.values[shape] < scaled(shape); }))
        return fmt::format("{} < {}", one.name, right);
      if (is([&](std::size_t shape) { return one.values[shape] <= scaled(shape); }))
        return fmt::format("{} <= {}", one.name, right);
      if (is([&](std::size_t shape) {
            return remainder(one.values[shape], std::max<Size>(scaled(shape), 1)) != 0;
          }))
        return fmt::format("{} is no multiple of {}", one.name, right);
    }
    return std::nullopt;
  }

  // The limit is known between two recorded values only, so both are in the text.
  [[nodiscard]] std::optional<std::string> threshold(const Shapes::Axis& axis) const {
    Values with;
    Values without;
    for (std::size_t shape = 0; shape < holds_.size(); ++shape)
      (holds_[shape] ? with : without).push_back(axis.values[shape]);
    if (with.empty() || without.empty()) return std::nullopt;
    const auto [with_min, with_max] = std::ranges::minmax(with);
    const auto [without_min, without_max] = std::ranges::minmax(without);
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
  if (std::ranges::find(holds, true) == holds.end()) return std::nullopt;
  return ConditionSearch(shapes, holds).find();
}

}  // namespace peakmark
