#pragma once

#include <chrono>
#include <optional>

#include "base/size.hpp"

namespace peakmark {

/// How long a case may take: more where it needs more memory, since inputs, calls and verification take time
/// in proportion to that. An exact limit, as `--timeout` sets it, has `per_gib` 0.
struct CaseLimit {
  std::chrono::milliseconds base{60'000};
  std::chrono::milliseconds per_gib{10'000};

  /// Of a case that needs `bytes`; the base where that is unknown. At most a day more than the base.
  [[nodiscard]] std::chrono::milliseconds limit(std::optional<Size> bytes) const {
    constexpr std::chrono::milliseconds kMaxExtra = std::chrono::hours(24);
    const double extra =
        static_cast<double>(per_gib.count()) * static_cast<double>(bytes.value_or(0)) / (Size{1} << 30);
    if (extra >= static_cast<double>(kMaxExtra.count())) return base + kMaxExtra;
    return base + std::chrono::milliseconds(static_cast<std::chrono::milliseconds::rep>(extra));
  }

  friend bool operator==(const CaseLimit&, const CaseLimit&) = default;
};

}  // namespace peakmark
