#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <set>
#include <string_view>

#include "analyse/trend/branches.hpp"
#include "analyse/trend/case_findings.hpp"
#include "analyse/trend/common_findings.hpp"
#include "analyse/trend/finding_text.hpp"
#include "analyse/trend/findings.hpp"
#include "analyse/trend/reports.hpp"
#include "base/report.hpp"
#include "base/size.hpp"
#include "base/text.hpp"
#include "measure/runfile/merge.hpp"

namespace peakmark::trend {
namespace {

constexpr std::size_t kMaxListed = 10;

/// Limits of a markdown report.
struct MarkdownLimits {
  std::size_t findings;
  std::size_t commands;     ///< of a section
  std::size_t table_bytes;  ///< leaves space for the lists after the tables
  std::size_t bytes;
};
/// Limits for the summary of a CI job.
constexpr MarkdownLimits kSummary{kMarkdownLimit, kMaxListed, kMarkdownLimit - 100'000, kMarkdownLimit};
/// Limits for a comment on a pull request, which should fit on a screen. GitHub refuses comments from 65,536
/// characters on.
constexpr MarkdownLimits kComment{10, 1, 30'000, 60'000};

/// A row of the table of findings.
using FindingRow = CommonFinding;

std::string verdict_cell(const FindingRow& row) {
  const Change& change = row.finding.worst();
  std::vector<std::string_view> more;
  if (row.is_new()) more.emplace_back("new");
  if (change.verdict == Verdict::regression && change.state && *change.state != State::open) {
    more.push_back(to_string(*change.state));
  }
  const std::string_view verdict = to_string(change.verdict);
  return more.empty() ? std::string(verdict) : fmt::format("{} ({})", verdict, fmt::join(more, ", "));
}

std::string console_cases_cell(const FindingRow& row) {
  return cases_text(row.finding, console_style());
}

std::string markdown_cases_cell(const FindingRow& row) {
  return cases_text(row.finding, markdown_style({}));
}

std::string metric_cell(const FindingRow& row) {
  return row.finding.worst().metric;
}

std::string before_cell(const FindingRow& row) {
  return level_texts(row.finding.worst()).first;
}

std::string after_cell(const FindingRow& row) {
  return after_text(row.finding.worst());
}

std::string step_cell(const FindingRow& row) {
  return steps_text(row.finding.changes);
}

/// Returns the days from the first to the last of these runs of the members.
std::string days_text(const FindingRow& row, std::size_t Change::*run) {
  std::set<std::string> days;
  for (const DeviceFinding& part : row.parts) {
    for (const Change* const change : part.finding.changes)
      days.insert(day(part.device->history->runs[change->*run].date));
  }
  return days.size() == 1 ? *days.begin() : *days.begin() + " to " + *days.rbegin();
}

std::string since_cell(const FindingRow& row) {
  return days_text(row, &Change::first);
}

std::string reported_cell(const FindingRow& row) {
  return days_text(row, &Change::raised);
}

std::string console_why_cell(const FindingRow& row) {
  return why_text(*row.device, row.finding, console_style());
}

std::string markdown_why_cell(const FindingRow& row) {
  return why_text(*row.device, row.finding, markdown_style(row.device->commit_url));
}

/// `has_devices`: with a column of the devices of each finding.
Fields<FindingRow> fields(bool is_markdown, bool has_devices) {
  const As cell = is_markdown ? As::markdown : As::text;
  Fields<FindingRow> all{{"verdict", As::text, verdict_cell},
                         {"case", cell, is_markdown ? markdown_cases_cell : console_cases_cell},
                         {"metric", As::text, metric_cell},
                         {"before", As::text, before_cell},
                         {"after", As::text, after_cell},
                         {"step", As::text, step_cell},
                         {"since", As::text, since_cell},
                         {"reported", As::text, reported_cell},
                         {"why", cell, is_markdown ? markdown_why_cell : console_why_cell, "", ""}};
  if (has_devices) all.insert(all.begin() + 2, {"device", As::text, devices_text});
  return all;
}

/// Findings under a title.
struct Section {
  const char* title;
  std::vector<CommonFinding> findings;
};

/// Separates what is new since the previous run from what is still open.
std::vector<Section> find_sections(const std::vector<DeviceTrends>& devices) {
  std::vector<Section> sections{
      {"new since the previous run", {}}, {"still open", {}}, {"no action needed", {}}};
  const auto is_shown = [](const Change& change) { return is_open(change) || change.is_news; };
  for (CommonFinding& one : find_common_findings(devices, is_shown)) {
    const FindingSection section = find_section(one);
    const std::size_t place = section == FindingSection::is_new ? 0 : section == FindingSection::open ? 1 : 2;
    sections[place].findings.push_back(std::move(one));
  }
  std::erase_if(sections, [](const Section& section) { return section.findings.empty(); });
  return sections;
}

/// Returns the commands that compare the commits of these findings, one per line.
std::vector<std::string> compare_lines(const Section& section, std::size_t max_lines = kMaxListed) {
  std::vector<std::string> lines;
  for (const CommonFinding& one : section.findings) {
    std::string line = compare_command(*one.device->history, one.finding);
    if (line.empty() || !needs_action(one.finding.worst())) continue;
    if (std::ranges::find(lines, line) == lines.end()) lines.push_back(std::move(line));
    if (lines.size() == max_lines) break;
  }
  return lines;
}

std::string sections_table(const std::vector<DeviceTrends>& devices) {
  std::string text;
  for (const Section& section : find_sections(devices)) {
    text +=
        fmt::format("{}:\n{}", section.title, rows_text(fields(false, devices.size() > 1), section.findings));
    for (const std::string& line : compare_lines(section)) text += "to compare: " + line + "\n";
  }
  return text;
}

/// Returns the tables of findings, within the limits.
std::string sections_markdown(const std::vector<DeviceTrends>& devices, const MarkdownLimits& limits) {
  std::string text;
  std::size_t shown_findings = 0;
  std::size_t left_out = 0;
  for (const Section& section : find_sections(devices)) {
    const Fields<FindingRow> shown = fields(true, devices.size() > 1);
    MarkdownTable table(columns(shown), limits.table_bytes - std::min(text.size(), limits.table_bytes));
    const std::size_t rows = std::min(section.findings.size(), limits.findings - shown_findings);
    for (std::size_t row = 0; row < rows; ++row) table.add(cells(shown, section.findings[row]));
    const std::size_t written = rows - table.left_out();
    shown_findings += written;
    left_out += section.findings.size() - written;
    if (written == 0) continue;
    text += fmt::format("**{}**\n\n{}", section.title, table.text());
    for (const std::string& line : compare_lines(section, limits.commands))
      text += fmt::format("\nTo compare: {}\n", markdown_code(line));
    text += "\n";
  }
  if (left_out > 0) text += quantity(left_out, "more finding") + " not shown (--json has all)\n\n";
  return text;
}

/// Returns `2 cases are new: a, b`: the number and the first kMaxListed.
template <typename T>
std::string list_text(const std::vector<T>& all, const std::string& one, const std::string& more,
                      const std::function<std::string(const T&)>& text) {
  if (all.empty()) return {};
  std::string list = quantity(all.size(), one, more);
  for (std::size_t i = 0; i < std::min(all.size(), kMaxListed); ++i) {
    list += (i == 0 ? ": " : ", ") + plain_text(text(all[i]));
  }
  if (all.size() > kMaxListed) list += fmt::format(" and {} more (--json has all)", all.size() - kMaxListed);
  return list;
}

/// Adds the cases that are in no table and no other list.
void add_statuses(const DeviceTrends& device, std::vector<std::string>& lines) {
  const auto text = [](const CaseStatus& one) { return fmt::format("{} ({})", one.case_name, one.reason); };
  const auto add = [&](const std::string& one, const std::string& more,
                       std::initializer_list<CaseState> states) {
    std::vector<CaseStatus> cases;
    std::ranges::copy_if(device.statuses, std::back_inserter(cases), [&](const CaseStatus& status) {
      return std::ranges::find(states, status.state) != states.end();
    });
    if (!cases.empty()) lines.push_back(list_text<CaseStatus>(cases, one, more, text));
  };
  add("case was not measured", "cases were not measured", {CaseState::failed});
  add("case fails", "cases fail", {CaseState::window, CaseState::rule});
  add("case fails as on the base branch", "cases fail as on the base branch", {CaseState::as_on_base});
  std::set<std::string> causes;
  for (const CaseStatus& status : device.statuses) {
    for (const std::string& cause : status.causes)
      causes.insert(plain_text(variant_name(status.case_name) + ": " + cause));
  }
  lines.insert(lines.end(), causes.begin(), causes.end());
  add("case is skipped", "cases are skipped", {CaseState::skipped});
  add("case is as expected", "cases are as expected", {CaseState::as_expected});
}

/// Returns the lines after the tables.
std::vector<std::string> remarks(const DeviceTrends& device) {
  const Trends& trends = device.trends;
  const std::vector<HistoryRun>& runs = device.history->runs;
  std::vector<std::string> lines;
  const auto add = [&](const std::string& line) {
    if (!line.empty()) lines.push_back(line);
  };
  add_statuses(device, lines);
  add(list_text<LeftSuite>(trends.left_suite, "case left its suite", "cases left their suite",
                           [&](const LeftSuite& one) {
                             return fmt::format("{} (last run {}{})", one.case_name, day(runs[one.last].date),
                                                one.is_news ? "; new" : "");
                           }));
  add(list_text<NewCase>(trends.new_cases, "case is new", "cases are new", [](const NewCase& one) {
    return one.note.empty() ? one.case_name : fmt::format("{} ({})", one.case_name, one.note);
  }));
  if (!trends.not_enough_data.empty()) {
    const std::size_t most = std::ranges::max(trends.not_enough_data, {}, &NotEnoughData::runs).runs;
    add(fmt::format("{}: at most {} of {} runs needed before times are judged",
                    quantity(trends.not_enough_data.size(), "case"), most,
                    trends.not_enough_data.front().needed + 1));
  }
  std::vector<EnvironmentChange> last;
  std::ranges::copy_if(trends.environment_changes, std::back_inserter(last),
                       [&](const EnvironmentChange& one) { return one.run + 1 == runs.size(); });
  add(list_text<EnvironmentChange>(
      last, "change of the environment in the last run", "changes of the environment in the last run",
      [](const EnvironmentChange& one) {
        return fmt::format("{}: {} → {}", one.what, one.before.value_or("–"), one.after.value_or("–"));
      }));
  if (!trends.allowance.is_zero()) add(trends.allowance.note());
  add(list_text<AllowedGrowth>(trends.allowed_growth, "figure grew within the allowed growth",
                               "figures grew within the allowed growth", [](const AllowedGrowth& one) {
                                 return fmt::format("{} ({} {:+} B)", one.case_name, one.metric,
                                                    one.value - one.level);
                               }));
  const std::vector<AcceptedFinding> accepted = group_acceptances(device.history->acceptances);
  const std::size_t first = accepted.size() - std::min(accepted.size(), kMaxListed);
  for (std::size_t i = first; i < accepted.size(); ++i) add(plain_text("accepted: " + to_text(accepted[i])));
  if (first > 0)
    add(fmt::format("accepted earlier: {} more (`peakmark trends accept --list` has all)", first));
  return lines;
}

std::string device_title(const DeviceTrends& device) {
  const std::vector<HistoryRun>& runs = device.history->runs;
  std::string title = fmt::format("{} ({}): {}", plain_text(device.history->device), device.history->backend,
                                  quantity(runs.size(), "run"));
  if (!runs.empty()) title += fmt::format(", {} to {}", day(runs.front().date), day(runs.back().date));
  return title;
}

/// Returns one line for the newest run of each suite, stale ones first.
std::vector<std::string> newest_lines(const DeviceTrends& device) {
  std::vector<std::string> lines;
  for (const bool is_stale : {true, false}) {
    for (const NewestRun& one : device.newest) {
      if (one.is_stale != is_stale || (!is_stale && lines.size() >= kMaxListed)) continue;
      lines.push_back(plain_text(to_text(one) + (is_stale ? "; older than --max-age allows" : "")));
    }
  }
  return lines;
}

/// Returns one line for each run of a branch: what it is compared with, or that it was not compared.
std::vector<std::string> base_lines(const DeviceTrends& device) {
  std::vector<std::string> lines;
  if (device.history->base_runs.empty()) {
    for (const std::string& line : uncompared(*device.history)) lines.push_back(plain_text(line));
  }
  for (std::size_t i = 0; i < device.history->base_runs.size(); ++i) {
    const BaseRun& base = device.history->base_runs[i];
    lines.push_back(plain_text(to_text(base, *device.history)));
    if (!base.run || !base.has_times) continue;
    const std::string command =
        compare_command(*device.history, *base.run, device.history->first_of_branch() + i);
    lines.push_back(plain_text(
        "times of one run are not judged; this compares them: " +
        (command.empty() ? "peakmark compare SUITE --commits BASE HEAD --build-command BUILD" : command)));
  }
  return lines;
}

/// Returns the hidden first line of a comment, by which a later job finds the comment and updates it; empty
/// for the base branch. It names the suites, so that each workflow has a separate comment.
std::string comment_marker(const std::vector<DeviceTrends>& devices) {
  std::set<std::string> suites;
  for (const DeviceTrends& device : devices) {
    for (const BaseRun& base : device.history->base_runs) {
      std::string name = base.suite;
      // Replaces characters that could end an HTML comment.
      std::ranges::replace_if(
          name, [](unsigned char c) { return std::isalnum(c) == 0 && c != '_'; }, '.');
      suites.insert(std::move(name));
    }
  }
  return suites.empty() ? "" : fmt::format("<!-- peakmark trends: {} -->\n", fmt::join(suites, " "));
}

/// `is_folded`: the list is closed until a reader opens it.
std::string remarks_markdown(const DeviceTrends& device, bool is_folded) {
  std::string list;
  for (const std::string& line : remarks(device)) list += "- " + markdown_cell(line) + "\n";
  if (list.empty() || !is_folded) return list;
  return "<details><summary>All cases</summary>\n\n" + list + "\n</details>\n";
}

}  // namespace

std::string trends_table(const std::vector<DeviceTrends>& devices) {
  std::string text = headline(devices) + "; " + tally(devices) + "\n";
  const bool is_one = devices.size() == 1;
  const std::string sections = sections_table(devices);
  if (!is_one && !sections.empty()) text += "\n" + sections;
  for (const DeviceTrends& device : devices) {
    text += "\n" + device_title(device) + "\n";
    for (const std::string& line : newest_lines(device)) text += line + "\n";
    for (const std::string& line : base_lines(device)) text += line + "\n";
    if (is_one) text += sections;
    for (const std::string& line : remarks(device)) text += line + "\n";
  }
  return text;
}

std::string trends_markdown(const std::vector<DeviceTrends>& devices) {
  const std::string marker = comment_marker(devices);
  const MarkdownLimits& limits = marker.empty() ? kSummary : kComment;
  std::string text = marker + "## " + headline(devices) + "\n\n" + markdown_cell(tally(devices)) + ".\n";
  const bool is_one = devices.size() == 1;
  const std::string sections = sections_markdown(devices, limits);
  if (!is_one && !sections.empty()) text += "\n" + sections;
  for (const DeviceTrends& device : devices) {
    std::string part = "\n### " + markdown_cell(device_title(device)) + "\n\n";
    for (const std::string& line : newest_lines(device)) part += markdown_cell(line) + "\n\n";
    for (const std::string& line : base_lines(device)) part += markdown_cell(line) + "\n\n";
    if (is_one) part += sections;
    part += remarks_markdown(device, !marker.empty());
    if (text.size() + part.size() > limits.bytes) {
      text += "\nThe rest is not shown (--json has all)\n";
      break;
    }
    text += part;
  }
  return text;
}

}  // namespace peakmark::trend
