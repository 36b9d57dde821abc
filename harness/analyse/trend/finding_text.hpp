#pragma once

// Internal to this module: texts of findings, for the console, markdown and JSON.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyse/trend/common_findings.hpp"
#include "analyse/trend/findings.hpp"
#include "analyse/trend/reports.hpp"

namespace peakmark::trend {

/// How commits and texts from outside are written.
struct TextStyle {
  std::function<std::string(const std::string& text)> text;
  std::function<std::string(const std::string& name)> name;
  std::function<std::string(const std::string& commit)> commit;
};
TextStyle console_style();
/// Links commits by the template, unless it is empty.
TextStyle markdown_style(const std::string& commit_url);

/// Returns the number of commits from `before`, an ancestor, to `after`; null if it is unknown.
std::optional<std::int64_t> commits_between(const HistoryRun& before, const HistoryRun& after);
/// Returns `Pad rows, by Ada`: subject and author of a run's commit; empty if both are unknown.
std::string commit_text(const HistoryRun& run, const TextStyle& style);

/// Returns the day of a date.
std::string day(const std::string& date);
/// Returns the levels before and after a change, with their unit; for an outcome, its words. The texts
/// differ.
std::pair<std::string, std::string> level_texts(const Change& change);
/// Returns the level after a change, and the present one if that was undone in part: `2 us, now 1.5 us`.
std::string after_text(const Change& change);
/// Returns the step in bytes, as a difference of ratios, or in percent for times; for outcomes, `worse` or
/// `better`.
std::string step_text(const Change& change);
/// Returns `15 MiB → 20 MiB (+5242880 B)`; undone in part `2 us → 4 us, now 3 us (+100.0 %, now +50.0 %)`.
std::string levels_text(const Change& change);
/// Returns the formulas or allocations that changed at the peak, or the message of a worse outcome.
std::vector<std::string> cause_texts(const Change& change);
/// Returns why a change needs no action: `accepted by ada on 2026-02-12: needed`, `fixed in run 7f3a
/// (2026-09-03), commit 1a2b3c4d5e6f: Free the copy, by Ada`; empty for others, and for improvements.
std::string resolution_text(const DeviceHistory& history, const Change& change);
/// Returns levels or steps, and the course: `+256 B to +1024 B, since 2026-09-03, commit 1a2b3c4d5e6f (Pad
/// rows, by Ada), reported on 2026-09-04; accepted by ada on 2026-09-05: needed`.
std::string progress_text(const CommonFinding& finding);
/// Returns the range of steps from the smallest to the largest: `+256 B to +1024 B`; if they were undone in
/// part, `+100.0 %, now +50.0 %`.
std::string steps_text(const std::vector<const Change*>& changes);
/// Returns `padding/coords1d, 12 cases, largest: padding/coords1d/opencl/n:20`, or the name of a single case.
std::string cases_text(const Finding& finding, const TextStyle& style);
/// Returns `2 devices: GPU, CPU`, or the name of a single device.
std::string devices_text(const CommonFinding& finding);
/// Returns `48 of 50 cases are 30.0 % slower since run 1a2b: suspect the machine`; empty unless nearly all
/// cases took the step.
std::string machine_text(const DeviceHistory& history, const Finding& finding);
/// Returns the reasons of the worst case, then the other metrics that changed with it.
std::string why_text(const DeviceTrends& device, const Finding& finding, const TextStyle& style);
/// Returns one line for a mail's subject: `regression: padding/coords1d, 12 cases, largest: …:
/// requested_peak_bytes 15 MiB → 20 MiB (+5242880 B), on 2 devices: GPU, CPU; commits 1a2b..3c4d`.
std::string summary_text(const CommonFinding& finding);

}  // namespace peakmark::trend
