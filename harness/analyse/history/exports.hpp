#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyse/history/history.hpp"
#include "analyse/history/run_order.hpp"
#include "analyse/trend/series.hpp"
#include "base/text_file.hpp"

namespace peakmark::history {

// Formats for other programs: pure functions of the result of History::read().

/// Selects what is exported.
struct ExportChoice : RunLimits {
  std::vector<std::string> metrics;  ///< empty: all
  std::string filter;                ///< a regular expression for case names; empty: all
  bool without_gaps = false;         ///< only series with a value for every run
  bool with_base = false;            ///< for a branch, also the runs that it is compared with
};

/// Returns the selected runs, series and outcomes. For a branch (trend::compare_with_base()), returns only
/// its own runs. Throws UsageError for an unknown metric or a malformed expression.
trend::DeviceHistory chosen(trend::DeviceHistory device, const ExportChoice& choice);

/// Returns CSV (RFC 4180, but lines end with a newline) of one device: a line for each run, with
/// `time,commit,run` and a column `CASE METRIC` for each series. A cell is empty if the value was not
/// measured.
std::string series_csv(const trend::DeviceHistory& device);

/// Writes a line of JSON for each case of each run: `run`, `date`, `suite`, `commit`, `branch`, `device`,
/// `backend`, `driver`, `case`, `outcome`, and each metric, null if not measured.
void write_json_lines(const trend::DeviceHistory& device, const TextSink& sink);

/// Writes the input of reports for a device: a line `{"runs": […], "left_out": {id: index of the next run}}`,
/// then a line for each case: `case`, `device`, `backend`, `variant`, `axes`, `series` {metric: values},
/// `outcomes`. Lists are as long as `runs`, with null if not measured. `variant` is null and `axes` empty for
/// a case that is not in `cases`.
void write_series_for_reports(const trend::DeviceHistory& device, const std::vector<KnownCase>& cases,
                              const TextSink& sink);

/// Returns Bencher Metric Format, `{case: {measure: {value}}}`, of this run; for `latest`, each case comes
/// from the newest run that planned it. With several devices, names begin with the device, because Bencher
/// has one device per file.
std::string bencher_metrics(const std::vector<trend::DeviceHistory>& devices, const std::string& run);

/// Returns Otava's configuration in YAML for the CSV `csv_file` of this device.
std::string otava_configuration(const trend::DeviceHistory& device, const std::string& csv_file);

}  // namespace peakmark::history
