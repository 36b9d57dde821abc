#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ledger/ledger.hpp"
#include "profile/profile.hpp"

namespace peakmark {

struct FoldedProcess;
struct FoldedProfiles;

/// One process as its profile tells it.
struct RecordedProcess {
  std::filesystem::path path;
  ProfileHeader header{};
  std::vector<std::string> command_line;
  bool complete = false;   ///< the recorder closed it and lost nothing, and all of it is there
  bool cut_short = false;  ///< the recorder closed it, and the end of the file is missing (a copy broken off)
  std::uint64_t lost_events = 0;  ///< that are missing, for whatever reason
  EventBlock events;
  /// Of the events the first that stand for folded ones (`record --compact`); 0: all are as they were
  /// recorded.
  std::size_t folded_events = 0;
  std::uint64_t folded_slots = 0;  ///< of the profile
  bool releases_at_end = true;     ///< merge_by_time releases what it holds at its end
};

/// Why what is told of it is not all that happened: events were lost, or the file is cut short. Empty where
/// the profile has everything up to the program's end, be that a kill. `invalid`: the note of its events that
/// says so (invalid_note).
std::string why_not_whole(const RecordedProcess& process, const std::string& invalid);

/// What one `record` wrote: the program itself first, then the other processes by the time they started.
struct RecordedTree {
  std::vector<RecordedProcess> processes;
  /// The folded events of all processes merged by time, as merge_by_time returns them: its result begins with
  /// them. Empty where nothing was folded, or there was one process then.
  std::vector<Event> folded_together = {};
};

/// Reads `path` and, beside it, the profiles `path.<pid>` of the program's other processes. Where only those
/// are there (the program was killed before `record` could rename), the one that started first stands for the
/// program. What was folded of them is read from `path.folded`. Throws UsageError when there is none.
RecordedTree read_tree(const std::filesystem::path& path);

/// Reads one profile; `folded` has the events of its first slots (null: none were folded).
RecordedProcess read_process(const std::filesystem::path& path, const FoldedProcess* folded);

/// When the process, or the program that it executed, was gone; nothing where nobody saw it.
std::optional<std::int64_t> end_of(const RecordedProcess& process, const RecordedTree& tree);

/// Sets `folded_together`. Throws UsageError when a process of it is not in the tree.
void add_folded_together(RecordedTree& tree, const FoldedProfiles& folded);

/// The events of all processes in the order of time, each process's own order kept. Handles of two processes
/// may be equal numbers: they are kept apart by the place of the process in their upper 16 bits, which phases
/// and failed allocations have there too; two profiles of one process with both recorders are one place, and
/// phases, which both were told, are there once. What a process still holds when it ends is released then;
/// where its end is unknown, never.
std::vector<Event> merge_by_time(const RecordedTree& tree);

/// Of whom an allocation is that was summed up from merged events.
const RecordedProcess& process_of(const RecordedTree& tree, const Allocation& merged);

/// Where a process stands in the tree: children follow their parent, one step deeper. A process whose parent
/// was not recorded (a shell) stands at the top.
struct ProcessPlace {
  std::size_t index = 0;  ///< in `processes`
  int depth = 0;
};
std::vector<ProcessPlace> process_order(const RecordedTree& tree);

/// Of one process what `summarise` says. Of several the peak of all together, by time; never released is what
/// each of them had not released when it ended.
LedgerSummary summarise_together(const RecordedTree& tree);

}  // namespace peakmark
