#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "profile/event.hpp"

namespace peakmark {

/// The life of an allocation, by indices of events.
struct TraceSpan {
  std::size_t allocation = 0;
  std::optional<std::size_t> release;  ///< none: never released
  std::optional<std::size_t> name;     ///< the last mark that named it
};

/// The allocations whose spans a thinned trace has, in the order in which they were made.
struct TraceSpans {
  std::vector<TraceSpan> kept;
  std::size_t allocations = 0;  ///< all of them
};

/// At most `max` allocations: those live at the first moment of the peak come first, then the largest, then
/// the oldest.
TraceSpans spans_for_trace(std::span<const Event> events, std::size_t max);

}  // namespace peakmark
