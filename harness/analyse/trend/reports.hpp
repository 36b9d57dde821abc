#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analyse/trend/case_status.hpp"
#include "analyse/trend/newest_runs.hpp"
#include "analyse/trend/notifications.hpp"
#include "analyse/trend/trends.hpp"
#include "base/error.hpp"

namespace peakmark::trend {

/// The trends of one device.
struct DeviceTrends {
  const DeviceHistory* history = nullptr;
  Trends trends;
  std::vector<CaseStatus> statuses;
  std::string commit_url = {};          ///< template with `{commit}`; empty: no links
  std::vector<Notified> notified = {};  ///< of its cases; they give findings their ids
  std::vector<NewestRun> newest = {};   ///< of the base branch; empty for other branches
};

/// Throws UsageError unless `url` is `http://…` or `https://…` with `{commit}`, without characters that end a
/// link in markdown or HTML.
void check_commit_url(const std::string& url);
/// Returns the address of a commit; empty without a template or a commit.
std::string commit_link(const std::string& url, const std::string& commit);

/// Returns the number of cases with CaseStatus::needs_action().
std::size_t count_cases_needing_action(const std::vector<DeviceTrends>& devices);
/// Returns the number of cases by judgement, in the words of `check` (measure/check/judged_case.hpp).
std::string tally(const std::vector<DeviceTrends>& devices);
/// Returns the first line of every report: `3 findings: 2 regressions, 1 estimator`. A finding has presumably
/// one cause. Cases that need action without a change are one finding for each variant and device.
std::string headline(const std::vector<DeviceTrends>& devices);

/// Returns the number of suites whose newest run is older than `--max-age` allows.
std::size_t count_stale_suites(const std::vector<DeviceTrends>& devices);

/// Returns the exit code of `trends` (docs/verdicts.md): `nothing` if something was not compared
/// (uncompared()) and that is not allowed, or a suite is stale; `verdict` if a regression is open, a newest
/// run is partial, or a case of a branch fails a rule that passes on the base branch; else `clean`.
ExitCode exit_code_of(const std::vector<DeviceTrends>& devices, bool allow_uncompared);

/// Returns JSON (docs/formats.md, "Trends").
std::string trends_json(const std::vector<DeviceTrends>& devices, ExitCode exit_code);
/// Returns the text for the console: new changes, open ones, then cases without enough data.
std::string trends_table(const std::vector<DeviceTrends>& devices);
/// Returns a summary of a job. For a branch, returns a comment for a pull request: about a screen long, with
/// an invisible first line by which a workflow finds its comment again.
std::string trends_markdown(const std::vector<DeviceTrends>& devices);
/// Returns a JUnit file with a test for each case and device. A case that fails as on the base branch passes;
/// a case without enough data is skipped if its bytes were not measured.
std::string trends_junit(const std::vector<DeviceTrends>& devices);

}  // namespace peakmark::trend
