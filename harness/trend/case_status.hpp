#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "check/judge.hpp"
#include "check/tally.hpp"
#include "trend/trends.hpp"

namespace peakmark::trend {

/// The state of a case after the newest run that planned it, the worst first.
enum class CaseState : std::uint8_t {
  regression,   ///< a change to the worse is open
  failed,       ///< the measurement failed
  window,       ///< an estimate is outside its window
  rule,         ///< another rule of `check` fails
  suspicious,   ///< a change that waits for its confirmation
  vanished,     ///< measured in an earlier run, and not in the newest; its suite does not expect that
  skipped,      ///< not measured
  as_expected,  ///< another outcome than `ok`, which the suite expects
  improvement,  ///< of the last 30 runs; `recovery` too
  recovery,
  is_new,
  young,  ///< times have too few runs; bytes are judged
  steady,
};
std::string_view to_string(CaseState state);

struct CaseStatus {
  std::string case_name;
  CaseState state{};
  /// As the headline counts it.
  Judgement judgement{};
  std::string reason;
  /// Why it is failed, outside its window, skipped and so on, a sentence each. A change tells of itself.
  std::vector<std::string> texts;

  /// Somebody has to do something about it: from `regression` to `vanished`.
  [[nodiscard]] bool needs_a_look() const;
};

/// Returns a run of the history by its id.
using ReadRun = std::function<Run(const std::string& id)>;

/// The standing of every case of a device, by name: what trends found, and what judge() says of the newest
/// run that planned the case. A run that 30 runs of the device came after is not judged any more:
/// its cases are skipped.
std::vector<CaseStatus> find_standings(const DeviceHistory& history, const Trends& trends,
                                       const ReadRun& read_run);

}  // namespace peakmark::trend
