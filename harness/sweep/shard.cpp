#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "base/error.hpp"
#include "sweep/suite.hpp"

namespace peakmark {
namespace {

bool parse_number(std::string_view text, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

Shard parse_shard(std::string_view text) {
  const std::size_t slash = text.find('/');
  Shard shard;
  const bool numbers = slash != std::string_view::npos && parse_number(text.substr(0, slash), shard.index) &&
                       parse_number(text.substr(slash + 1), shard.count);
  if (!numbers || shard.index < 1 || shard.index > shard.count) {
    throw UsageError(fmt::format("'{}' is no shard; write I/N with 1 ≤ I ≤ N, such as 2/4", text));
  }
  return shard;
}

// Every N-th case, so that large shapes, which stand together in a suite, are spread over the shards.
std::vector<PlannedCase> shard_of(std::vector<PlannedCase> cases, Shard shard) {
  if (shard.index < 1 || shard.index > shard.count) {
    throw UsageError(fmt::format("{}/{} is no shard; I/N with 1 ≤ I ≤ N is", shard.index, shard.count));
  }
  const auto step = static_cast<std::size_t>(shard.count);
  std::size_t kept = 0;
  for (std::size_t i = static_cast<std::size_t>(shard.index) - 1; i < cases.size(); i += step, ++kept) {
    if (kept != i) cases[kept] = std::move(cases[i]);
  }
  cases.resize(kept);
  cases.shrink_to_fit();
  return cases;
}

}  // namespace peakmark
