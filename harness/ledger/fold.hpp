#pragma once

#include <span>
#include <vector>

#include "profile/event.hpp"

namespace peakmark {

/// Returns fewer events that add up to the same (`record --compact`): `summarise` of them, and of them
/// followed by any later events, equals that of all. Kept are the allocations that are live at the end or at
/// the first moment of the peak, with their releases and names; phases, notes and call stacks; one refused
/// request of each kind and phase, with its count. Of everything else the counts are kept (EventType::folded)
/// and a thinned timeline (EventType::live) in which each phase's and each kind's peak is exact. Times of the
/// device (EventType::work) are dropped.
///
/// The result may be folded again, together with what came after it. A text must not be cut off at the end.
std::vector<Event> fold(std::span<const Event> events);

}  // namespace peakmark
