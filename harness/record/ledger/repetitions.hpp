#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/size.hpp"
#include "record/profile/call_frames.hpp"
#include "record/profile/event.hpp"

namespace peakmark {

/// Phases that occur less often are not judged: the first repetitions warm up, and memory that a repetition
/// leaves is a leak only if it outlives the next one.
inline constexpr std::size_t kMinRepetitions = 4;

/// One repetition of a phase, from its mark to the mark that ends it. Bytes are those of all live memory that
/// counts into the peak.
struct Repetition {
  Size live_before_bytes = 0;
  Size live_after_bytes = 0;
  Size peak_bytes = 0;
  bool operator==(const Repetition&) const = default;
};

/// Classifies memory that repetitions leave behind.
enum class GrowthVerdict : std::uint8_t {
  leak,       ///< it grows again and again, up to the end
  unsettled,  ///< like a leak, but all of it was released after the last repetition, perhaps late by a busy
              ///< device
  undecided,  ///< it grew once in the second half of the repetitions
  warm_up,    ///< it grew in the first half only, as caches and pools do
};
std::string_view to_string(GrowthVerdict verdict);

/// Memory of one name, kind, phase and call chain that repetitions leave behind: it is live at the end of the
/// last repetition. What the last one itself allocated does not count, since its results may still be in use.
struct Growth {
  GrowthVerdict verdict = GrowthVerdict::leak;
  std::string name;
  MemoryKind kind = MemoryKind::none;
  std::string phase;  ///< in which it is allocated
  std::string where;  ///< its call chain (call_chain); empty if no call stacks were recorded
  Size bytes = 0;     ///< left by all repetitions but the last
  /// Bytes of each repetition in the second half except the last; null if they differ.
  std::optional<Size> bytes_per_repetition;
  std::size_t repetitions = 0;  ///< that left some, without the last
  bool operator==(const Growth&) const = default;
};

/// A phase that occurs several times, with everything that its repetitions leave behind.
struct RepeatedPhase {
  std::string phase;
  std::vector<Repetition> repetitions;
  std::vector<Growth> growth;  ///< by verdict, then the largest first
  /// The growth of the peak above `live_before_bytes` during the second half of the repetitions; 0 if the
  /// peak ever shrank or did not grow several times. Null if releases are not settled, because peaks then
  /// vary.
  std::optional<Size> peak_drift_bytes;

  [[nodiscard]] bool has_leak() const;
  /// Returns true if there is a leak, or the peak drifts.
  [[nodiscard]] bool fails() const;
};

struct RepetitionOptions {
  /// Memory that the program releases is released in the events at once (releases_at_once of profile.hpp).
  /// Otherwise a busy device may keep memory, so memory that is released after the last repetition was
  /// perhaps not kept by the program.
  bool is_settled = false;
  Symbols symbols = nullptr;  ///< for `where`; null: only names that the recorder found
};

/// Returns the phases of a process that occur kMinRepetitions times or more, in the order of their first
/// marks. `call/fft` belongs to `call`; it is listed by itself only if it occurs more often. Memory allocated
/// between two repetitions belongs to the later one, unless another repeated phase made it. The events must
/// not be folded.
std::vector<RepeatedPhase> find_repetitions(std::span<const Event> events, const RepetitionOptions& options);

}  // namespace peakmark
