#include "measure/compare/memory_pass.hpp"

#include <string>

#include "measure/compare/moved_allocations.hpp"

namespace peakmark {
namespace {

void add_note(Observation& observation, const std::string& note) {
  if (!note.empty()) observation.message += (observation.message.empty() ? "" : "; ") + note;
}

void note_sequence(const MemoryPass& first, const std::optional<MemoryPass>& second,
                   Observation& observation) {
  if (first.is_sequence_too_long) {
    add_note(observation, "no allocation sequence: " + std::to_string(first.allocations) +
                              " allocations are more than " + std::to_string(kMaxSequencedAllocations));
  }
  if (!first.sequence) return;
  observation.allocation_sequence = first.sequence;
  if (second && second->is_sequence_too_long)
    add_note(observation, "the memory passes differ: the sequence of the second is too long");
  if (second && second->sequence)
    add_note(observation, compare_passes(*observation.allocation_sequence, *second->sequence));
}

}  // namespace

MemoryPass to_memory_pass(const LedgerSummary& summary) {
  MemoryPass pass;
  pass.peak_bytes = summary.peak_bytes;
  pass.allocations = summary.allocations;
  pass.at_peak = summary.at_peak;
  pass.by_kind = summary.by_kind;
  if (summary.pool_seen) pass.pool_reserved_peak_bytes = summary.pool_reserved_peak_bytes;
  return pass;
}

void add_sequence(MemoryPass& pass, std::span<const Event> events, const CallChain& call_chain,
                  const ProcessName& process_name) {
  pass.sequence = allocation_sequence(events, call_chain, process_name);
  pass.is_sequence_too_long = !pass.sequence;
}

void note_memory(const MemoryPass& first, const std::optional<MemoryPass>& second, Observation& observation) {
  observation.requested_peak_bytes = first.peak_bytes;
  observation.first_call_peak_bytes = first.first_call_peak_bytes;
  observation.setup_bytes = first.setup_bytes;
  observation.input_bytes = first.input_bytes;
  observation.output_bytes = first.output_bytes;
  observation.allocations = first.allocations;
  observation.at_peak = peak_entries(first.at_peak);
  for (const auto& [kind, of_kind] : first.by_kind) observation.by_kind[to_string(kind)] = of_kind.peak_bytes;
  observation.pool_reserved_peak_bytes = first.pool_reserved_peak_bytes;
  note_sequence(first, second, observation);
  if (!second) return;
  observation.second_pass_peak_bytes = second->peak_bytes;
  if (second->peak_bytes != first.peak_bytes) {
    for (const MovedAllocations& moved :
         moved_allocations(observation.at_peak, peak_entries(second->at_peak)))
      observation.moved_allocations.push_back(in_words(moved));
  }
}

void note_repetitions(const RepeatedPhase& phase, Observation& observation) {
  observation.repeated_calls =
      std::max(observation.repeated_calls.value_or(0), static_cast<std::int64_t>(phase.repetitions.size()));
  if (const Size drift = phase.peak_drift_bytes.value_or(0); drift > 0)
    observation.peak_drift_bytes = std::max(observation.peak_drift_bytes.value_or(0), drift);
  for (const Growth& growth : phase.growth) {
    if (growth.verdict != GrowthVerdict::leak) continue;
    observation.call_leaks.push_back({growth.name, to_string(growth.kind), growth.phase, growth.where,
                                      growth.bytes, growth.bytes_per_repetition});
  }
}

}  // namespace peakmark
