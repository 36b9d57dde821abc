#include "record/ledger/allocation_sequence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"
#include "record/ledger/replay.hpp"
#include "record/profile/call_sites.hpp"

namespace peakmark {
namespace {

class Sequencer : public ReplayObserver {
 public:
  Sequencer(std::span<const Event> events, const CallChain& call_chain, const ProcessName& process_name)
      : events_(events), call_chain_(call_chain), process_name_(process_name) {}

  void allocated(std::size_t i, const LiveMemory& /*live*/) {
    if (is_too_long()) return;
    const Event& event = events_[i];
    sequence_.push_back({"", phase_, where(event.amounts.stack), event.amounts.bytes, step_++, {}});
    if (process_name_) sequence_.back().process = process_name_(event.address);
  }
  void released(std::size_t /*event*/, const LiveEntry& entry, const LiveMemory& /*live*/) {
    if (entry.number < sequence_.size()) sequence_[entry.number].released_at = step_++;
  }
  void named(std::size_t i, const LiveEntry& entry) {
    if (entry.number < sequence_.size()) sequence_[entry.number].name = text_of(events_, i);
  }
  void other(std::size_t i, const LiveMemory& /*live*/) {
    if (events_[i].type == EventType::phase) phase_ = text_of(events_, i);
  }

  std::optional<AllocationSequence> finish() {
    if (is_too_long()) return std::nullopt;
    return std::move(sequence_);
  }

 private:
  [[nodiscard]] bool is_too_long() const { return sequence_.size() > kMaxSequencedAllocations; }

  const std::string& where(std::uint64_t stack) {
    const auto [known, is_new] = chains_.try_emplace(stack);
    if (is_new && stack != 0 && call_chain_) known->second = call_chain_(stack);
    return known->second;
  }

  std::span<const Event> events_;
  const CallChain& call_chain_;
  const ProcessName& process_name_;
  AllocationSequence sequence_;
  std::unordered_map<std::uint64_t, std::string> chains_;
  std::string phase_;
  Size step_ = 0;
};

}  // namespace

std::optional<AllocationSequence> allocation_sequence(std::span<const Event> events,
                                                      const CallChain& call_chain,
                                                      const ProcessName& process_name) {
  const auto is_folded = [](const Event& event) { return event.type == EventType::live; };
  if (std::ranges::any_of(events, is_folded))
    throw UsageError("`record --compact` removed allocations from the profile; record without it");
  Sequencer sequencer(events, call_chain, process_name);
  replay(events, sequencer, [](const Event& event) { return counts_into_peak(event.kind); });
  return sequencer.finish();
}

std::vector<SequenceStep> sequence_steps(const AllocationSequence& sequence) {
  std::vector<SequenceStep> steps;
  steps.reserve(2 * sequence.size());
  for (std::size_t i = 0; i < sequence.size(); ++i) {
    steps.push_back({sequence[i].allocated_at, i, false});
    if (sequence[i].released_at) steps.push_back({*sequence[i].released_at, i, true});
  }
  std::ranges::sort(steps, {}, &SequenceStep::step);
  return steps;
}

namespace {

struct Peak {
  Size bytes = 0;
  std::optional<Size> step;  // the first step at which the peak is reached; null if nothing is allocated
};

Peak find_peak(const AllocationSequence& sequence) {
  Peak peak;
  Size live = 0;
  for (const auto& [step, allocation, is_release] : sequence_steps(sequence)) {
    const Size bytes = sequence[allocation].bytes;
    live = checked_add(live, is_release ? -bytes : bytes);
    if (live > peak.bytes) peak = {live, step};
  }
  return peak;
}

}  // namespace

Size peak_bytes(const AllocationSequence& sequence) {
  return find_peak(sequence).bytes;
}

std::vector<std::size_t> live_at_peak(const AllocationSequence& sequence) {
  const std::optional<Size> peak = find_peak(sequence).step;
  std::vector<std::size_t> live;
  for (std::size_t i = 0; i < sequence.size() && peak; ++i) {
    const SequencedAllocation& one = sequence[i];
    if (one.allocated_at <= *peak && (!one.released_at || *one.released_at > *peak)) live.push_back(i);
  }
  return live;
}

std::string compare_passes(AllocationSequence& first, const AllocationSequence& second) {
  if (first == second) return "";
  const auto key = [](const SequencedAllocation& one) { return std::pair(phased_key(one), one.bytes); };
  std::map<std::pair<PhasedKey, Size>, std::size_t> left;
  for (const SequencedAllocation& one : second) ++left[key(one)];
  std::size_t missing = 0;
  const SequencedAllocation* example = nullptr;
  for (SequencedAllocation& one : first) {
    const auto same = left.find(key(one));
    one.is_repeated = same != left.end() && same->second > 0;
    if (one.is_repeated) {
      --same->second;
    } else {
      ++missing;
      if (example == nullptr) example = &one;
    }
  }
  const std::size_t repeated = first.size() - missing;
  std::string text = "the memory passes differ: ";
  if (missing == 0 && second.size() == first.size())
    return text + "they make the same allocations, but not in the same order";
  text += std::to_string(repeated) + " of " + std::to_string(first.size()) + " allocations repeat";
  if (example != nullptr) {
    text += "; the first that does not is " + (example->name.empty() ? "an allocation" : example->name) +
            " of " + std::to_string(example->bytes) + " bytes";
    if (!example->phase.empty()) text += " in " + example->phase;
  } else {
    text += ", and the second pass makes " + std::to_string(second.size() - repeated) + " more";
  }
  return text;
}

std::map<std::string, std::string> short_call_sites(const AllocationSequences& sequences,
                                                    std::size_t frames) {
  std::map<std::string, double> bytes;
  for (const AllocationSequence& sequence : sequences) {
    for (const SequencedAllocation& one : sequence) bytes[one.where] += static_cast<double>(one.bytes);
  }
  return short_call_sites(bytes, frames);
}

}  // namespace peakmark
