#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/compare/memory_pass.hpp"
#include "record/ledger/ledger.hpp"
#include "record/profile/event.hpp"
#include "record/show/process_tree.hpp"

namespace peakmark {

/// The figures of one recorded program, with its marks. A phase is recognised by the parts of its name:
/// `call/fft` is a part of `call`.
///   call     is measured; each beginning is one call
///   inputs   its allocations that live when the first call begins are inputs
///   outputs  likewise outputs; without a call both are what these phases leave allocated
///   end      the program has released its own memory: what lives after it is leaked
/// A program without `call` is measured as a whole.
struct ProgramRecord {
  /// From the program's start to the end of its last call: peak, allocations live at the peak, kinds.
  LedgerSummary summary;
  std::optional<Size> first_call_peak_bytes;  ///< up to the end of the first call; null without calls
  std::optional<Size> setup_bytes;            ///< live when the first call begins, without inputs and outputs
  std::optional<Size> input_bytes;            ///< null if no such phase is marked before the first call
  std::optional<Size> output_bytes;
  std::optional<Size> leaked_bytes;    ///< null without the mark `end`
  std::vector<std::int64_t> calls_ns;  ///< host time of each call, in order
  std::vector<std::string>
      phases;  ///< marked in any process, without duplicates, in the order of their first beginning
  /// Time for which the device worked on the commands of each call or, without calls, on those of the program
  /// (one figure). Null if the recorder was not requested to time commands, or there were none.
  std::optional<std::vector<std::int64_t>> device_ns;
  std::int64_t failed_allocations = 0;        ///< of the whole program
  std::optional<Size> largest_refused_bytes;  ///< of the failed allocations
  /// Whether the last failed allocation of a process failed for lack of memory.
  bool out_of_memory = false;
  std::optional<std::int32_t>
      last_failure;  ///< error code of the last failed allocation; null if none failed

  std::size_t counted_events = 0;  ///< events up to the end of the last call, which `summary` counts

  [[nodiscard]] MemoryPass memory_pass() const;
};

/// `events`: of all processes of the program, merged by time (merge_by_time). Marks are per process; the
/// measured call ends when the last process's call ends.
/// `whole`: the summary of all events; memory that is live when a process ends counts as live.
ProgramRecord record_of_program(std::span<const Event> events, const LedgerSummary& whole);

/// Returns why the device's work in a profile may be incomplete; empty if it is complete. CUPTI delivers its
/// last records when the process exits: a process that calls _exit, or is killed, loses them.
std::string why_work_is_lost(const RecordedTree& tree);

}  // namespace peakmark
