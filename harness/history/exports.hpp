#pragma once

#include <optional>
#include <string>
#include <vector>

#include "history/history.hpp"
#include "trend/series.hpp"

namespace peakmark::history {

// What a history gives to other programs. Each is a pure function of what History::read() says.

/// What of a history is exported.
struct ExportChoice {
  std::vector<std::string> metrics;  ///< empty: all
  std::string filter;                ///< a regular expression that case names must hold; empty: all
  bool without_gaps = false;         ///< only series with a value for every run
};

/// With the series and outcomes chosen alone. UsageError for a metric or expression that is none.
trend::DeviceHistory chosen(trend::DeviceHistory device, const ExportChoice& choice);

/// CSV (RFC 4180, but lines end in a newline) of one device: `time,commit,run`, then a column a case and
/// metric, called `CASE METRIC`; a line a run; empty where nothing was measured.
std::string series_csv(const trend::DeviceHistory& device);

/// A line of JSON for each case of each run: `run`, `date`, `commit`, `device`, `backend`, `case`, `outcome`,
/// and each metric, null where nothing was measured.
std::string series_json_lines(const std::vector<trend::DeviceHistory>& devices);

/// For reports: a line `{"runs": […]}` in order of date, then a line for each case on a device: `case`,
/// `device`, `backend`, `variant`, `axes`, `series` {metric: values}, `outcomes`; lists as long as `runs`,
/// null where the case was not measured. `variant` is null, and `axes` empty, of a case that is not in
/// `cases`.
std::string series_for_reports(const std::vector<trend::DeviceHistory>& devices,
                               const std::vector<KnownCase>& cases);

/// Otava's configuration for the CSV `csv_file` of this device, in YAML.
std::string otava_configuration(const trend::DeviceHistory& device, const std::string& csv_file);

}  // namespace peakmark::history
