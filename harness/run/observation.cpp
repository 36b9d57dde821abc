#include "run/observation.hpp"

#include <array>
#include <utility>

#include "base/error.hpp"

namespace peakmark {
namespace {

constexpr std::array<std::pair<Outcome, std::string_view>, 6> kOutcomes{{
    {Outcome::ok, "ok"},
    {Outcome::wrong_answer, "wrong_answer"},
    {Outcome::out_of_memory, "out_of_memory"},
    {Outcome::timeout, "timeout"},
    {Outcome::crashed, "crashed"},
    {Outcome::unsupported, "unsupported"},
}};

}  // namespace

std::string_view name_of(Outcome outcome) {
  for (const auto& [value, name] : kOutcomes) {
    if (value == outcome) return name;
  }
  throw Error(ExitCode::usage, "no such outcome");
}

Outcome parse_outcome(std::string_view name) {
  std::string all;
  for (const auto& [value, known] : kOutcomes) {
    if (known == name) return value;
    if (!all.empty()) all += ", ";
    all += known;
  }
  throw UsageError("unknown outcome '" + std::string(name) + "'; the outcomes are " + all);
}

}  // namespace peakmark
