#include "measure/runfile/outcome_level.hpp"

#include <algorithm>
#include <array>

namespace peakmark {
namespace {

constexpr std::array<std::string_view, 9> kNames{"ok",           "as_expected", "incomplete",
                                                 "unsupported",  "lost",        "out_of_memory",
                                                 "wrong_answer", "timeout",     "crashed"};

}  // namespace

std::string_view to_string(OutcomeLevel level) {
  return kNames.at(static_cast<std::size_t>(level));
}

OutcomeLevel parse_outcome_level(std::string_view name) {
  for (const OutcomeLevel level : {OutcomeLevel::incomplete, OutcomeLevel::lost}) {
    if (name == to_string(level)) return level;
  }
  return level_of(parse_outcome(name), false);
}

OutcomeLevel level_of(Outcome outcome, bool is_expected) {
  if (outcome == Outcome::ok) return OutcomeLevel::ok;
  if (is_expected) return OutcomeLevel::as_expected;
  return static_cast<OutcomeLevel>(std::ranges::find(kNames, to_string(outcome)) - kNames.begin());
}

bool is_worse(OutcomeLevel before, OutcomeLevel after) {
  return after > std::max(before, OutcomeLevel::as_expected);
}

}  // namespace peakmark
