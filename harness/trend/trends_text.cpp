#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <string_view>

#include "base/duration.hpp"
#include "base/markdown_text.hpp"
#include "base/plain_text.hpp"
#include "base/quantity.hpp"
#include "base/short_commit.hpp"
#include "base/size.hpp"
#include "base/text_table.hpp"
#include "trend/reports.hpp"

namespace peakmark::trend {
namespace {

constexpr std::size_t kMostOfAList = 10;
/// Of the markdown: what stands after a device's table, and before the next, needs some room too.
constexpr std::size_t kMostInRows = kMarkdownLimit - 100'000;

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
    more.push_back(name_of(*change.state));
  }
  const std::string_view verdict = name_of(change.verdict);
  return more.empty() ? std::string(verdict) : fmt::format("{} ({})", verdict, fmt::join(more, ", "));
}

std::string why(const DeviceTrends& device, const Change& change) {
  std::string text;
  const auto add = [&text](const std::string& more) { text += (text.empty() ? "" : "; ") + more; };
  if (change.allocations) {
    for (const MovedAllocations& one : *change.allocations) {
      add(fmt::format("{} {} {}: {} → {}", one.name.empty() ? "unnamed" : plain_text(one.name),
                      name_of(one.kind), format_size(one.bytes), one.base_count, one.new_count));
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

std::vector<Row> rows_of(const DeviceTrends& device) {
  std::vector<Row> rows;
  std::vector<const Change*> shown;
  for (const Change& change : device.trends.changes) {
    if (is_open(change) || change.is_news) shown.push_back(&change);
  }
  // What is to be looked at comes first, the largest step of it before others.
  std::ranges::stable_sort(shown, [](const Change* a, const Change* b) {
    const bool first = needs_a_look(*a);
    const bool second = needs_a_look(*b);
    if (first != second) return first;
    return std::abs(a->relative().value_or(1)) > std::abs(b->relative().value_or(1));
  });
  rows.reserve(shown.size());
  for (const Change* const change : shown) {
    rows.push_back({verdict_text(*change), plain_text(change->case_name), change->metric,
                    level_text(*change, change->before), level_text(*change, change->after),
                    step_text(*change), day_of(device.history->runs[change->first].date),
                    day_of(device.history->runs[change->raised].date), why(device, *change)});
  }
  return rows;
}

const std::vector<std::string> kTitles{"verdict", "case",  "metric", "before", "after",
                                       "step",    "since", "told",   "why"};
constexpr std::size_t kCaseColumn = 1;

template <typename T>
std::string list_of(const std::vector<T>& all, const std::string& one, const std::string& more,
                    const std::function<std::string(const T&)>& text) {
  if (all.empty()) return {};
  std::string list = quantity(all.size(), one, more);
  for (std::size_t i = 0; i < std::min(all.size(), kMostOfAList); ++i) {
    list += (i == 0 ? ": " : ", ") + plain_text(text(all[i]));
  }
  if (all.size() > kMostOfAList)
    list += fmt::format(" and {} more (--json has all)", all.size() - kMostOfAList);
  return list;
}

/// Cases that no row and no other list tells of.
void add_standings(const DeviceTrends& device, std::vector<std::string>& lines) {
  const auto text = [](const CaseStanding& one) { return fmt::format("{} ({})", one.case_name, one.reason); };
  const auto add = [&](const std::string& one, const std::string& more,
                       std::initializer_list<CaseState> states) {
    std::vector<CaseStanding> cases;
    std::ranges::copy_if(device.standings, std::back_inserter(cases), [&](const CaseStanding& standing) {
      return std::ranges::find(states, standing.state) != states.end();
    });
    if (!cases.empty()) lines.push_back(list_of<CaseStanding>(cases, one, more, text));
  };
  add("case was not measured", "cases were not measured", {CaseState::failed});
  add("case fails", "cases fail", {CaseState::window, CaseState::rule});
  add("case is skipped", "cases are skipped", {CaseState::skipped});
  add("case is as expected", "cases are as expected", {CaseState::as_expected});
}

/// The lists that are no table, a line each.
std::vector<std::string> remarks(const DeviceTrends& device) {
  const Trends& trends = device.trends;
  const std::vector<NightRun>& runs = device.history->runs;
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
  if (!device.history->acceptances.empty()) {
    add(list_of<Acceptance>(
        device.history->acceptances, "change accepted", "changes accepted", [](const Acceptance& one) {
          return fmt::format("{}{}{}: {}", one.case_name, one.metric.empty() ? "" : " " + one.metric,
                             one.who.empty() ? "" : " by " + one.who, one.reason);
        }));
  }
  return lines;
}

std::string title_of(const DeviceTrends& device) {
  const std::vector<NightRun>& runs = device.history->runs;
  std::string title = fmt::format("{} ({}): {}", plain_text(device.history->device), device.history->backend,
                                  quantity(runs.size(), "run"));
  if (!runs.empty()) title += fmt::format(", {} to {}", day_of(runs.front().date), day_of(runs.back().date));
  return title;
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
  const std::size_t cases = cases_to_look_at(devices);
  if (cases > 0) return quantity(cases, "case needs", "cases need") + " a look";
  if (!has_baseline) return "no baseline yet: one run of each device, changes are told from the second on";
  return "nothing to do";
}

std::size_t cases_to_look_at(const std::vector<DeviceTrends>& devices) {
  std::size_t cases = 0;
  for (const DeviceTrends& device : devices) {
    cases += static_cast<std::size_t>(std::ranges::count_if(device.standings, &CaseStanding::needs_a_look));
  }
  return cases;
}

std::string tally(const std::vector<DeviceTrends>& devices) {
  Tally all;
  for (const DeviceTrends& device : devices) {
    for (const CaseStanding& one : device.standings) all.add(one.judgement, one.reason);
  }
  return peakmark::headline(all);
}

std::string trends_table(const std::vector<DeviceTrends>& devices) {
  std::string text = headline(devices) + "; " + tally(devices) + "\n";
  for (const DeviceTrends& device : devices) {
    text += "\n" + title_of(device) + "\n";
    std::vector<TextTable::Column> columns;
    columns.reserve(kTitles.size());
    for (const std::string& title : kTitles) columns.push_back({title, TextTable::Align::left});
    TextTable table(columns);
    const std::vector<Row> rows = rows_of(device);
    for (const Row& row : rows) table.add(row);
    if (!rows.empty()) text += table.text();
    for (const std::string& line : remarks(device)) text += line + "\n";
  }
  return text;
}

std::string trends_markdown(const std::vector<DeviceTrends>& devices) {
  std::string text = "## " + headline(devices) + "\n\n" + markdown_cell(tally(devices)) + ".\n";
  for (const DeviceTrends& device : devices) {
    text += "\n### " + markdown_cell(title_of(device)) + "\n\n";
    const std::vector<Row> rows = rows_of(device);
    if (!rows.empty()) {
      text += fmt::format("| {} |\n|{}\n", fmt::join(kTitles, " | "), [] {
        std::string line;
        for (std::size_t i = 0; i < kTitles.size(); ++i) line += "---|";
        return line;
      }());
      std::size_t left_out = 0;
      for (Row row : rows) {
        for (std::size_t column = 0; column < row.size(); ++column) {
          row[column] = column == kCaseColumn ? markdown_code(row[column]) : markdown_cell(row[column]);
        }
        const std::string line = fmt::format("| {} |\n", fmt::join(row, " | "));
        if (left_out > 0 || text.size() + line.size() > kMostInRows) {
          ++left_out;
        } else {
          text += line;
        }
      }
      if (left_out > 0)
        text += "\n" + quantity(left_out, "more row was", "more rows were") + " left out (--json has all)\n";
      text += "\n";
    }
    for (const std::string& line : remarks(device)) text += "- " + markdown_cell(line) + "\n";
  }
  return text;
}

}  // namespace peakmark::trend
