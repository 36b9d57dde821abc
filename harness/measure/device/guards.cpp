#include "measure/device/guards.hpp"

#include <fmt/format.h>

#include <random>

namespace peakmark {
namespace {

/// The bytes of a guard that do not have the pattern.
struct Overwritten {
  Size first = 0;
  Size last = 0;
  Size count = 0;
};

Overwritten compare(std::span<const std::byte> guard, std::span<const std::byte> pattern) {
  Overwritten found;
  for (std::size_t i = 0; i < guard.size(); ++i) {
    if (guard[i] == pattern[i]) continue;
    if (found.count++ == 0) found.first = static_cast<Size>(i);
    found.last = static_cast<Size>(i);
  }
  return found;
}

/// Returns `bytes 0 to 3 after its end`, `2 of the bytes 0 to 8 after its end` or `byte 1 before its start`.
std::string place(Size nearest, Size furthest, Size count, std::string_view side) {
  if (nearest == furthest) return fmt::format("byte {} {}", nearest, side);
  const bool is_whole = furthest - nearest + 1 == count;
  return fmt::format("{}bytes {} to {} {}", is_whole ? "" : fmt::format("{} of the ", count), nearest,
                     furthest, side);
}

}  // namespace

std::vector<std::byte> guard_pattern(const GuardedArray& array) {
  std::mt19937 random(static_cast<std::uint32_t>(array.number));
  const std::uint32_t flipped = array.fill == GuardFill::inverted ? 0xFF : 0;
  std::vector<std::byte> pattern(static_cast<std::size_t>(2 * kGuardBytes));
  for (std::byte& byte : pattern) byte = static_cast<std::byte>((random() & 0xFF) ^ flipped);
  return pattern;
}

std::optional<std::string> overwritten_text(const GuardedArray& array, std::span<const std::byte> before,
                                            std::span<const std::byte> after) {
  const std::vector<std::byte> pattern = guard_pattern(array);
  const std::span<const std::byte> both(pattern);
  const Overwritten low = compare(before, both.first(kGuardBytes));
  const Overwritten high = compare(after, both.last(kGuardBytes));
  if (low.count == 0 && high.count == 0) return std::nullopt;
  std::string places;
  if (low.count != 0)
    places = place(kGuardBytes - low.last, kGuardBytes - low.first, low.count, "before its start");
  if (high.count != 0) {
    if (!places.empty()) places += " and ";
    places += place(high.first, high.last, high.count, "after its end");
  }
  return fmt::format("array '{}' (number {}, {}): {} were overwritten", array.name, array.number,
                     format_size(array.bytes), places);
}

}  // namespace peakmark
