#pragma once

#include <span>
#include <string_view>

#include "base/size.hpp"
#include "measure/compare/memory_pass.hpp"
#include "record/ledger/allocation_sequence.hpp"
#include "record/profile/event.hpp"

namespace peakmark {

/// The phases of a memory pass, by their names in profiles.
namespace phase {
inline constexpr std::string_view set_up = kSetupPhase;
inline constexpr std::string_view inputs = "inputs";
inline constexpr std::string_view outputs = "outputs";
inline constexpr std::string_view call_1 = "call 1";
inline constexpr std::string_view restore = "restore";  ///< before a further call, outside the peak
inline constexpr std::string_view call_2 = "call 2";
inline constexpr std::string_view verify = "verify";
inline constexpr std::string_view end = "end";
}  // namespace phase

/// Summarises the events of one memory pass. The leak is that of the whole pass; all other figures cover the
/// time from the start of setup to the end of the second call, without `restore`.
///
/// `events`: one pass, from before its phase `setup` to its phase `end`, with nothing live before.
/// `call_chain`: not null if the sequence of allocations is requested.
MemoryPass record_of_pass(std::span<const Event> events, const CallChain* call_chain = nullptr);

/// Returns the bytes that are live after `events`, if nothing was live before them: the leak of a pass.
Size live_after(std::span<const Event> events);

}  // namespace peakmark
