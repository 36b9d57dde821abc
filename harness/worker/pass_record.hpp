#pragma once

#include <span>
#include <string_view>

#include "base/size.hpp"
#include "compare/memory_pass.hpp"
#include "profile/event.hpp"

namespace peakmark {

/// The phases of a memory pass, as they stand in profiles.
namespace phase {
inline constexpr std::string_view set_up = "set-up";
inline constexpr std::string_view inputs = "inputs";
inline constexpr std::string_view outputs = "outputs";
inline constexpr std::string_view call_1 = "call 1";
inline constexpr std::string_view restore = "restore";  ///< before a further call, outside the peak
inline constexpr std::string_view call_2 = "call 2";
inline constexpr std::string_view verify = "verify";
inline constexpr std::string_view end = "end";
}  // namespace phase

/// What the events of one memory pass add up to. The peak and everything beside it but the leak are those of
/// the time from the start of set-up to the end of the second call, `restore` left out.
///
/// `events`: one pass, from before its mark `set-up` to its mark `end`, with nothing live before.
/// `call_chain`: where the sequence of allocations is asked for; else null.
MemoryPass record_of_pass(std::span<const Event> events, const CallChain* call_chain = nullptr);

/// Bytes live after all `events`, which began with nothing live: after the end of a pass, what it leaked.
Size live_after(std::span<const Event> events);

}  // namespace peakmark
