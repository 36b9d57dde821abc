#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "record/ledger/ledger.hpp"
#include "record/profile/profile.hpp"

namespace peakmark {

struct FoldedProcess;

/// A process, from its profile.
struct RecordedProcess {
  std::filesystem::path path;
  ProfileHeader header{};
  std::vector<std::string> command_line;
  bool complete = false;   ///< the recorder closed it, and no event is missing
  bool cut_short = false;  ///< the recorder closed it, and the end of the file is missing: an incomplete copy
  std::uint64_t lost_events = 0;  ///< missing, for any reason
  EventBlock events;
};

/// Returns why the profile is incomplete: events were lost, or the file is cut off. Empty if it has
/// everything up to the program's end, also of a program that was killed. `invalid`: invalid_note() of its
/// events.
std::string why_not_whole(const RecordedProcess& process, const std::string& invalid);

/// The profiles that one `record` wrote: the program itself first, then the other processes by the time they
/// started.
struct RecordedTree {
  std::vector<RecordedProcess> processes;
};

/// Reads `path` and the profiles `path.<pid>` of the program's other processes next to it. If only those
/// exist (`record` was killed before it could rename one), program_profile() is the program's. Reads folded
/// events that are not in their profile yet from `path.folded`. Throws UsageError if there is no profile.
RecordedTree read_tree(const std::filesystem::path& path);

/// Reads one profile; `folded` has the events of its first slots, or is null.
RecordedProcess read_process(const std::filesystem::path& path, const FoldedProcess* folded);

/// Returns when the process, or the program that it executed, ended; null if unknown.
std::optional<std::int64_t> end_of(const RecordedProcess& process, const RecordedTree& tree);

/// The origin of an event in a merge.
struct MergedFrom {
  std::size_t process = 0;  ///< its place in the tree
  std::size_t event = 0;    ///< its place in the events of the process; beyond them: a release at its end
};

/// Returns the events of all processes in the order of time; the order within a process stays. Handles of
/// different processes may be equal, so the upper 16 bits of addresses (also of phases and failed
/// allocations) become the place of the process in the tree. Two profiles of one process, from both
/// recorders, have one place, and each phase once. Memory that a process holds is released at its end, or
/// never if its end is unknown. `from`, unless null, receives the origin of each event.
std::vector<Event> merge_by_time(const RecordedTree& tree, std::vector<MergedFrom>* from = nullptr);

/// Returns the process of an allocation from merged events.
const RecordedProcess& process_of(const RecordedTree& tree, const Allocation& merged);

/// The place of a process in the tree: children follow their parent, one step deeper. A process whose parent
/// was not recorded (a shell) is at the top.
struct ProcessPlace {
  std::size_t index = 0;  ///< in `processes`
  int depth = 0;
};
std::vector<ProcessPlace> process_order(const RecordedTree& tree);

/// Returns summarise() of one process. For several: the peak of all together, by time; leaked is the memory
/// that each process had not released at its end.
LedgerSummary summarise_together(const RecordedTree& tree);

/// If a process of the program used several devices, keeps only the memory of the device with the highest
/// peak, because budget, estimator window and formulas apply to one device. Returns a text with the peaks of
/// all devices. If it used only one device, changes nothing and returns an empty text.
std::string keep_one_device(RecordedTree& tree);

}  // namespace peakmark
