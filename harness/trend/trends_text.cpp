#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>

#include "base/size.hpp"
#include "base/text.hpp"
#include "base/text_table.hpp"
#include "trend/findings.hpp"
#include "trend/reports.hpp"

namespace peakmark::trend {
namespace {

constexpr std::size_t kMaxOfAList = 10;
/// Of the markdown: what stands after a device's table, and before the next, needs some room too.
constexpr std::size_t kMaxInRows = kMarkdownLimit - 100'000;

std::string day_of(const std::string& date) {
  return date.substr(0, 10);
}

std::string level_text(const Change& change, double value) {
  if (change.metric == metric::gpu_time_ns) return format_duration(value);
  if (metric::is_exact(change.metric)) return format_size(static_cast<Size>(value));
  return fmt::format("{:.7g}", value);
}

/// A few bytes of a gigabyte are a change, and no percentage.
std::string step_text(const Change& change) {
  if (metric::is_exact(change.metric))
    return fmt::format("{:+} B", static_cast<Size>(change.after - change.before));
  if (change.metric == metric::estimate_ratio) return fmt::format("{:+.2g}", change.after - change.before);
  const std::optional<double> relative = change.relative();
  return relative ? fmt::format("{:+.1f} %", *relative * 100) : "–";
}

std::string verdict_text(const Change& change) {
  std::vector<std::string_view> more;
  if (change.is_news) more.emplace_back("new");
  if (change.verdict == Verdict::regression && change.state && *change.state != State::open) {
    more.push_back(to_string(*change.state));
  }
  const std::string_view verdict = to_string(change.verdict);
  return more.empty() ? std::string(verdict) : fmt::format("{} ({})", verdict, fmt::join(more, ", "));
}

std::string why(const DeviceTrends& device, const Change& change) {
  std::string text;
  const auto add = [&text](const std::string& more) { text += (text.empty() ? "" : "; ") + more; };
  if (change.allocations) {
    for (const MovedAllocations& one : *change.allocations) {
      add(fmt::format("{} {} {}: {} → {}", one.name.empty() ? "unnamed" : plain_text(one.name),
                      to_string(one.kind), format_size(one.bytes), one.base_count, one.new_count));
    }
  }
  for (const std::string& one : change.environment) add("with another " + plain_text(one));
  const std::string& before = device.history->runs[change.last_before].commit;
  const std::string& after = device.history->runs[change.first].commit;
  if (!before.empty() && !after.empty()) {
    add(before == after ? "same commit " + short_commit(after)
                        : short_commit(before) + ".." + short_commit(after));
  }
  if (change.verdict == Verdict::suspicious && !change.state)
    add("not confirmed; `run --confirm` or the next night tells");
  if (!change.reference.empty()) add("relative to the reference " + change.reference);
  return text;
}

using Row = std::vector<std::string>;

/// `padding/coords1d, 12 cases, most: padding/coords1d/opencl/n:20`; of one case its name. `code` marks
/// names.
template <typename Code>
std::string what(const Finding& finding, Code code) {
  std::string name = code(plain_text(finding.worst().case_name));
  if (finding.changes.size() == 1) return name;
  return fmt::format("{}, {} cases, most: {}", code(plain_text(finding.variant)), finding.changes.size(),
                     name);
}

/// Of the smallest change to the largest, where they differ: `+256 B to +1024 B`.
std::string steps_text(const Finding& finding) {
  const std::string least = step_text(*finding.changes.back());
  const std::string most = step_text(finding.worst());
  return least == most ? most : least + " to " + most;
}

/// The days of the runs from the first to the last that a member has of this kind.
std::string days_text(const DeviceTrends& device, const Finding& finding, std::size_t Change::*run) {
  const auto [first, last] =
      std::ranges::minmax(finding.changes, {}, [run](const Change* change) { return change->*run; });
  const auto day = [&](const Change* change) { return day_of(device.history->runs[change->*run].date); };
  return day(first) == day(last) ? day(first) : day(first) + " to " + day(last);
}

/// Of the worst case, then what else changed with it, a metric each.
std::string why(const DeviceTrends& device, const Finding& finding) {
  std::string text = why(device, finding.worst());
  std::vector<std::string> told;
  for (const Change* const other : finding.with_it) {
    if (std::ranges::find(told, other->metric) != told.end()) continue;
    told.push_back(other->metric);
    text += fmt::format("{}with it {} {}", text.empty() ? "" : "; ", other->metric, step_text(*other));
  }
  return text;
}

template <typename Code>
Row row_of(const DeviceTrends& device, const Finding& finding, Code code) {
  const Change& worst = finding.worst();
  return {verdict_text(worst),
          what(finding, code),
          worst.metric,
          level_text(worst, worst.before),
          level_text(worst, worst.after),
          steps_text(finding),
          days_text(device, finding, &Change::first),
          days_text(device, finding, &Change::raised),
          why(device, finding)};
}

/// A part of a device's findings, under a title.
struct Section {
  const char* title;
  std::vector<Finding> findings;
};

/// What is new since the previous run is apart from what is still open.
std::vector<Section> sections_of(const DeviceTrends& device) {
  std::vector<const Change*> shown;
  for (const Change& change : device.trends.changes) {
    if (is_open(change) || change.is_news) shown.push_back(&change);
  }
  std::vector<Section> sections{
      {"new since the previous run", {}}, {"still open", {}}, {"no action needed", {}}};
  for (Finding& finding : find_findings(shown)) {
    const bool needs = needs_a_look(finding.worst());
    sections[!needs ? 2 : finding.worst().is_news ? 0 : 1].findings.push_back(std::move(finding));
  }
  std::erase_if(sections, [](const Section& section) { return section.findings.empty(); });
  return sections;
}

const std::vector<std::string> kTitles{"verdict", "case",  "metric", "before", "after",
                                       "step",    "since", "told",   "why"};
constexpr std::size_t kCaseColumn = 1;

template <typename T>
std::string list_of(const std::vector<T>& all, const std::string& one, const std::string& more,
                    const std::function<std::string(const T&)>& text) {
  if (all.empty()) return {};
  std::string list = quantity(all.size(), one, more);
  for (std::size_t i = 0; i < std::min(all.size(), kMaxOfAList); ++i) {
    list += (i == 0 ? ": " : ", ") + plain_text(text(all[i]));
  }
  if (all.size() > kMaxOfAList)
    list += fmt::format(" and {} more (--json has all)", all.size() - kMaxOfAList);
  return list;
}

/// Cases that no row and no other list tells of.
void add_standings(const DeviceTrends& device, std::vector<std::string>& lines) {
  const auto text = [](const CaseStatus& one) { return fmt::format("{} ({})", one.case_name, one.reason); };
  const auto add = [&](const std::string& one, const std::string& more,
                       std::initializer_list<CaseState> states) {
    std::vector<CaseStatus> cases;
    std::ranges::copy_if(device.standings, std::back_inserter(cases), [&](const CaseStatus& standing) {
      return std::ranges::find(states, standing.state) != states.end();
    });
    if (!cases.empty()) lines.push_back(list_of<CaseStatus>(cases, one, more, text));
  };
  add("case was not measured", "cases were not measured", {CaseState::failed});
  add("case fails", "cases fail", {CaseState::window, CaseState::rule});
  add("case is skipped", "cases are skipped", {CaseState::skipped});
  add("case is as expected", "cases are as expected", {CaseState::as_expected});
}

/// `accepted: padding/coords1d, 12 cases, gpu_time_ns, from run 1a2b on, by ada: a table saves time`
std::string accepted_text(const AcceptedFinding& finding) {
  const Acceptance& first = *finding.acceptances.front();
  std::set<std::string> cases;
  std::set<std::string> metrics;
  for (const Acceptance* const one : finding.acceptances) {
    cases.insert(one->case_name);
    if (!one->metric.empty()) metrics.insert(one->metric);
  }
  return plain_text(fmt::format(
      "accepted: {}{}{}, from run {} on{}: {}",
      cases.size() == 1 ? first.case_name : fmt::format("{}, {} cases", finding.variant, cases.size()),
      metrics.empty() ? "" : ", ", fmt::join(metrics, ", "), first.from_run,
      first.who.empty() ? "" : ", by " + first.who, first.reason));
}

/// The lists that are no table, a line each.
std::vector<std::string> remarks(const DeviceTrends& device) {
  const Trends& trends = device.trends;
  const std::vector<HistoryRun>& runs = device.history->runs;
  std::vector<std::string> lines;
  const auto add = [&](const std::string& line) {
    if (!line.empty()) lines.push_back(line);
  };
  add_standings(device, lines);
  add(list_of<Vanished>(trends.vanished, "case vanished", "cases vanished", [&](const Vanished& one) {
    return fmt::format("{} ({}, last measured {}{})", one.case_name, one.outcome.value_or("not planned"),
                       day_of(runs[one.last].date), one.is_news ? "; new" : "");
  }));
  add(list_of<NewCase>(trends.new_cases, "case is new", "cases are new",
                       [](const NewCase& one) { return one.case_name; }));
  if (!trends.not_enough_data.empty()) {
    std::size_t most = 0;
    for (const NotEnoughData& one : trends.not_enough_data) most = std::max(most, one.nights);
    add(fmt::format("times of {} have not enough data yet: {} at most, more than {} are needed",
                    quantity(trends.not_enough_data.size(), "case"), quantity(most, "night"),
                    trends.not_enough_data.front().least));
  }
  std::vector<EnvironmentChange> last;
  std::ranges::copy_if(trends.environment_changes, std::back_inserter(last),
                       [&](const EnvironmentChange& one) { return one.run + 1 == runs.size(); });
  add(list_of<EnvironmentChange>(
      last, "change of the environment with the last run", "changes of the environment with the last run",
      [](const EnvironmentChange& one) {
        return fmt::format("{}: {} → {}", one.what, one.before.value_or("–"), one.after.value_or("–"));
      }));
  if (!trends.allowance.is_zero()) add(trends.allowance.note());
  add(list_of<AllowedGrowth>(trends.allowed_growth, "figure grew by no more than is allowed",
                             "figures grew by no more than is allowed", [](const AllowedGrowth& one) {
                               return fmt::format("{} ({} {:+} B)", one.case_name, one.metric,
                                                  one.value - one.level);
                             }));
  const std::vector<AcceptedFinding> accepted = group_acceptances(device.history->acceptances);
  const std::size_t first = accepted.size() - std::min(accepted.size(), kMaxOfAList);
  for (std::size_t i = first; i < accepted.size(); ++i) add(accepted_text(accepted[i]));
  if (first > 0)
    add(fmt::format("accepted earlier: {} more (`peakmark trends accept --list` has all)", first));
  return lines;
}

std::string title_of(const DeviceTrends& device) {
  const std::vector<HistoryRun>& runs = device.history->runs;
  std::string title = fmt::format("{} ({}): {}", plain_text(device.history->device), device.history->backend,
                                  quantity(runs.size(), "run"));
  if (!runs.empty()) title += fmt::format(", {} to {}", day_of(runs.front().date), day_of(runs.back().date));
  return title;
}

/// Rows that would make a text of `size` bytes too long are left out, and counted.
std::string section_markdown(const DeviceTrends& device, const Section& section, std::size_t size) {
  std::string text = fmt::format("**{}**\n\n| {} |\n|", section.title, fmt::join(kTitles, " | "));
  for (std::size_t i = 0; i < kTitles.size(); ++i) text += "---|";
  text += "\n";
  std::size_t left_out = 0;
  for (const Finding& finding : section.findings) {
    Row row = row_of(device, finding, [](const std::string& name) { return markdown_code(name); });
    for (std::size_t column = 0; column < row.size(); ++column) {
      if (column != kCaseColumn) row[column] = markdown_cell(row[column]);
    }
    const std::string line = fmt::format("| {} |\n", fmt::join(row, " | "));
    if (left_out > 0 || size + text.size() + line.size() > kMaxInRows) {
      ++left_out;
    } else {
      text += line;
    }
  }
  if (left_out > 0)
    text += "\n" + quantity(left_out, "more row was", "more rows were") + " left out (--json has all)\n";
  return text + "\n";
}

}  // namespace

std::string headline(const std::vector<DeviceTrends>& devices) {
  std::size_t nights = 0;
  bool has_baseline = false;
  for (const DeviceTrends& device : devices) {
    nights += device.history->runs.size();
    has_baseline = has_baseline || device.history->runs.size() > 1;
  }
  if (nights == 0) return "no baseline yet: the history holds no run";
  const std::size_t cases = cases_to_confirm(devices);
  if (cases > 0) return quantity(cases, "case needs", "cases need") + " a look";
  if (!has_baseline) return "no baseline yet: one run of each device, changes are told from the second on";
  return "nothing to do";
}

std::size_t cases_to_confirm(const std::vector<DeviceTrends>& devices) {
  std::size_t cases = 0;
  for (const DeviceTrends& device : devices) {
    cases += static_cast<std::size_t>(std::ranges::count_if(device.standings, &CaseStatus::needs_a_look));
  }
  return cases;
}

std::string tally(const std::vector<DeviceTrends>& devices) {
  Tally all;
  for (const DeviceTrends& device : devices) {
    for (const CaseStatus& one : device.standings) all.add(one.judgement, one.reason);
  }
  return peakmark::headline(all);
}

std::string trends_table(const std::vector<DeviceTrends>& devices) {
  std::string text = headline(devices) + "; " + tally(devices) + "\n";
  for (const DeviceTrends& device : devices) {
    text += "\n" + title_of(device) + "\n";
    for (const Section& section : sections_of(device)) {
      std::vector<TextTable::Column> columns;
      columns.reserve(kTitles.size());
      for (const std::string& title : kTitles) columns.push_back({title, TextTable::Align::left});
      TextTable table(columns);
      for (const Finding& finding : section.findings) {
        table.add(row_of(device, finding, [](const std::string& name) { return name; }));
      }
      text += fmt::format("{}:\n{}", section.title, table.text());
    }
    for (const std::string& line : remarks(device)) text += line + "\n";
  }
  return text;
}

std::string trends_markdown(const std::vector<DeviceTrends>& devices) {
  std::string text = "## " + headline(devices) + "\n\n" + markdown_cell(tally(devices)) + ".\n";
  for (const DeviceTrends& device : devices) {
    text += "\n### " + markdown_cell(title_of(device)) + "\n\n";
    for (const Section& section : sections_of(device)) text += section_markdown(device, section, text.size());
    for (const std::string& line : remarks(device)) text += "- " + markdown_cell(line) + "\n";
  }
  return text;
}

}  // namespace peakmark::trend
