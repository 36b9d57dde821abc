#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/size.hpp"
#include "record/profile/event.hpp"

namespace peakmark {

/// One allocation of a recorded case that counts into the peak: what it is and how long it was live. Steps
/// count the allocations and releases of the case from 0.
struct SequencedAllocation {
  std::string name;   ///< given by the program; may be empty
  std::string phase;  ///< in which it was allocated
  std::string where;  ///< call chain (call_chain()); empty without call stacks
  Size bytes = 0;
  Size allocated_at = 0;            ///< step
  std::optional<Size> released_at;  ///< step; null: live at the end
  bool is_repeated = true;          ///< the second memory pass made the same allocation
  /// Program of the process that made it; empty: the recorded program itself, or unknown.
  std::string process = {};
  bool operator==(const SequencedAllocation&) const = default;
};
/// The allocations of a case in the order in which they were made.
using AllocationSequence = std::vector<SequencedAllocation>;

/// Key of allocations that belong together: name, call chain and process. Refers to strings of other objects,
/// which must outlive it.
using AllocationKey = std::tuple<std::string_view, std::string_view, std::string_view>;
template <typename Allocation>
AllocationKey allocation_key(const Allocation& one) {
  return {one.name, one.where, one.process};
}
/// An AllocationKey with its phase.
using PhasedKey = std::pair<std::string_view, AllocationKey>;
template <typename Allocation>
PhasedKey phased_key(const Allocation& one) {
  return {one.phase, allocation_key(one)};
}

/// Sequences that others own, such as the observations of a run.
using AllocationSequences = std::vector<std::reference_wrapper<const AllocationSequence>>;

/// The phase of setup, as profiles and run files call it.
inline constexpr std::string_view kSetupPhase = "setup";

/// Longer sequences are left out, with a note: they would fill run files.
inline constexpr std::size_t kMaxSequencedAllocations = 100'000;

/// Returns the call chain of a call stack by its id; empty if it is not known.
using CallChain = std::function<std::string(std::uint64_t stack)>;

/// Returns SequencedAllocation::process of an address of merged events (merge_by_time()).
using ProcessName = std::function<std::string(std::uint64_t address)>;

/// Returns the allocations of events before which nothing was live, as summarise() counts them: their maximum
/// of live bytes is LedgerSummary::peak_bytes. Returns null if there are more than kMaxSequencedAllocations.
/// Throws UsageError if events were folded (`record --compact`).
std::optional<AllocationSequence> allocation_sequence(std::span<const Event> events,
                                                      const CallChain& call_chain = nullptr,
                                                      const ProcessName& process_name = nullptr);

/// Returns the maximum of live bytes.
Size peak_bytes(const AllocationSequence& sequence);

/// Sets `is_repeated` of the allocations of the first memory pass by those of the second. Returns how the
/// passes differ, for people; empty if they do not.
std::string compare_passes(AllocationSequence& first, const AllocationSequence& second);

/// Returns the site of each `where` of the sequences (name_sites() of record/profile/call_sites.hpp). Depends
/// on all sequences: pass those of all shapes together.
std::map<std::string, std::string> short_call_sites(const AllocationSequences& sequences,
                                                    std::size_t frames = 0);

// A sequence of allocations, walked step by step.

/// An allocation of a sequence, or its release.
struct SequenceStep {
  Size step = 0;
  std::size_t allocation = 0;  ///< index into the sequence
  bool is_release = false;
};
/// Returns all allocations and releases in the order of their steps.
std::vector<SequenceStep> sequence_steps(const AllocationSequence& sequence);

/// Returns the indices of the allocations that are live when the peak is first reached, in order.
std::vector<std::size_t> live_at_peak(const AllocationSequence& sequence);

}  // namespace peakmark
