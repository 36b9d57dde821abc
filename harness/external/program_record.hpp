#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compare/memory_pass.hpp"
#include "ledger/ledger.hpp"
#include "profile/event.hpp"
#include "show/process_tree.hpp"

namespace peakmark {

/// What the events of one recorded program add up to, its marks taken into account. A phase counts by the
/// parts of its name, `call/fft` being a part of `call`:
///   call     what is measured; each time that it begins is one call
///   inputs   what it allocates, and lives when the first call begins, are inputs
///   outputs  the same, outputs; without a call both are what these phases leave
///   end      the program has released its own: what lives after it is leaked
/// A program without `call` is measured as a whole.
struct ProgramRecord {
  /// From the program's start to the end of its last call: peak, what was live at it, kinds.
  LedgerSummary summary;
  std::optional<Size> first_call_peak_bytes;  ///< to the end of the first call; null without calls
  std::optional<Size> setup_bytes;  ///< live when the first call begins, inputs and outputs left out
  std::optional<Size> input_bytes;  ///< null where no such phase is marked before the first call
  std::optional<Size> output_bytes;
  std::optional<Size> leaked_bytes;    ///< null without the mark `end`
  std::vector<std::int64_t> calls_ns;  ///< host's time of each call, in order
  std::vector<std::string> phases;     ///< that were marked in any process, each once, as they first began
  /// Time in which the device worked on the commands of each call or, without calls, on those of the program
  /// (one figure). Null if the recorder was not requested to time commands, or there were none.
  std::optional<std::vector<std::int64_t>> device_ns;
  std::int64_t failed_allocations = 0;        ///< of the whole program
  std::optional<Size> largest_refused_bytes;  ///< of them
  /// The last failed allocation of one of its processes failed for want of memory.
  bool out_of_memory = false;
  std::optional<std::int32_t> last_failure;  ///< error code of the last failed allocation; null without one

  std::size_t counted_events = 0;  ///< to the end of the last call: those of `summary`

  [[nodiscard]] MemoryPass memory_pass() const;
};

/// `events`: of all processes of the program, merged by time (merge_by_time). A mark is one of its process
/// alone: the call that is measured ends with the last call of any process.
/// `whole`: what they add up to, as long as they run: what is live at the end of a process is live then.
ProgramRecord record_of_program(std::span<const Event> events, const LedgerSummary& whole);

/// Why the device's work in a profile may not be all of it; empty where it is. CUPTI hands over its last
/// records when the process exits: one that leaves by _exit, or is killed, loses them.
std::string why_work_is_lost(const RecordedTree& tree);

}  // namespace peakmark
