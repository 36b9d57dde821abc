#pragma once

#include <cstdint>

namespace peakmark {

/// `bytes` and `auxiliary` of a `pool` event when the driver did not report them: what pools hold is unknown
/// for the whole profile, since a later figure would hide what came before.
inline constexpr std::int64_t kUnknownPoolBytes = -1;

}  // namespace peakmark
