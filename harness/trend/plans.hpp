#pragma once

// For the sources of this room only.

#include <cstddef>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "trend/series.hpp"

namespace peakmark::trend {

/// Which runs of a device can tell whether a case is there: those that had it, and those that would have had
/// it if their suite did. A run that was asked for other cases says nothing of it. So it was where its
/// filter, its variants or its `--backend` leave the case out; where it had no `--backend`, and only runs
/// with one, which makes cases that the suite has not, had the case; and where its suite is, by the
/// fingerprint, the very suite of a run that had the case, whatever kept it out.
class Plans {
 public:
  explicit Plans(const DeviceHistory& history);

  [[nodiscard]] bool can_tell(const CaseOutcomes& of, std::size_t run) const;
  /// Whether no later run of the suite of this one can tell of the case.
  [[nodiscard]] bool is_last(const std::string& case_name, std::size_t run) const;
  /// The last run of this suite that can tell of the case, which one of the suite does.
  [[nodiscard]] std::size_t last(const CaseOutcomes& of, const std::string& suite) const;

 private:
  [[nodiscard]] bool is_left_out(const CaseOutcomes& of, const HistoryRun& run) const;
  [[nodiscard]] bool is_of_asked_backends(const CaseOutcomes& of) const;

  const DeviceHistory& history_;
  std::map<std::string, std::regex> filters_;
};

}  // namespace peakmark::trend
