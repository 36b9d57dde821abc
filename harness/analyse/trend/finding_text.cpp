#include "analyse/trend/finding_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <vector>

#include "base/difference.hpp"
#include "base/size.hpp"
#include "base/text.hpp"

namespace peakmark::trend {
namespace {

/// Joins reasons by `; `.
class Reasons {
 public:
  void add(const std::string& reason) { text_ += (text_.empty() ? "" : "; ") + reason; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Maximum number of listed allocations of a finding, and of bytes of a program's message.
constexpr std::size_t kMaxAllocations = 6;
constexpr std::size_t kMaxMessage = 400;

/// Returns what differs at the peak, a sentence each. Formulas say more than the sizes of one case.
std::vector<std::string> allocation_texts(const Change& change) {
  if (!change.formulas.empty() || !change.allocations) return change.formulas;
  std::vector<std::string> texts;
  for (const MovedAllocations& one : *change.allocations) texts.push_back(in_words(one));
  return texts;
}

/// Returns ` (3 commits, the last: Pad rows, by Ada)`; empty if nothing is known of the commits.
std::string commits_note(const HistoryRun& before, const HistoryRun& after, const TextStyle& style) {
  const std::optional<std::int64_t> count = commits_between(before, after);
  const std::string text = commit_text(after, style);
  std::string note = count && (*count > 1 || text.empty()) ? quantity(*count, "commit") : "";
  if (!text.empty()) note += (note.empty() ? "" : ", the last: ") + text;
  return note.empty() ? "" : " (" + note + ")";
}

void add_moved_allocations(const Change& change, const TextStyle& style, Reasons& reasons) {
  const std::vector<std::string> all = allocation_texts(change);
  for (std::size_t i = 0; i < std::min(all.size(), kMaxAllocations); ++i) reasons.add(style.text(all[i]));
  if (all.size() > kMaxAllocations)
    reasons.add(style.text(fmt::format("and {} more (--json has all)", all.size() - kMaxAllocations)));
}

/// Adds `1a2b..3c4d (3 commits, the last: Pad rows, by Ada)`.
void add_commits(const DeviceTrends& device, const Change& change, const TextStyle& style, Reasons& reasons) {
  const HistoryRun& before = device.history->runs[change.last_before];
  const HistoryRun& after = device.history->runs[change.first];
  if (before.commit.empty() || after.commit.empty()) return;
  if (before.commit == after.commit) return reasons.add("same commit " + style.commit(after.commit));
  reasons.add(style.commit(before.commit) + ".." + style.commit(after.commit) +
              commits_note(before, after, style));
}

}  // namespace

TextStyle console_style() {
  const auto plain = [](const std::string& text) { return plain_text(text); };
  return {plain, plain, [](const std::string& commit) { return plain_text(short_commit(commit)); }};
}

TextStyle markdown_style(const std::string& commit_url) {
  const auto commit_text = [commit_url](const std::string& commit) {
    const std::string text = markdown_cell(short_commit(commit));
    const std::string link = commit_link(commit_url, commit);
    return link.empty() ? text : fmt::format("[{}]({})", text, link);
  };
  return {[](const std::string& text) { return markdown_cell(text); },
          [](const std::string& name) { return markdown_code(name); }, commit_text};
}

std::optional<std::int64_t> commits_between(const HistoryRun& before, const HistoryRun& after) {
  const std::optional<std::int64_t>& first = before.commit_text.number;
  const std::optional<std::int64_t>& last = after.commit_text.number;
  // Otherwise neither commit is an ancestor of the other.
  if (!first || !last || *first >= *last) return std::nullopt;
  return *last - *first;
}

std::string commit_text(const HistoryRun& run, const TextStyle& style) {
  const auto& [subject, author, number] = run.commit_text;
  std::string text = style.text(subject);
  if (!author.empty()) text += (text.empty() ? "by " : ", by ") + style.text(author);
  return text;
}

std::string day(const std::string& date) {
  return date.substr(0, 10);
}

std::pair<std::string, std::string> level_texts(const Change& change) {
  if (change.metric == metric::gpu_time_ns) return format_durations(change.before, change.after);
  if (metric::is_exact(change.metric)) {
    const auto before = static_cast<Size>(change.before);
    return {format_size(before), format_size_beside(static_cast<Size>(change.after), before)};
  }
  const auto text = [&](double value) {
    return change.metric == metric::outcome ? std::string(to_string(static_cast<OutcomeLevel>(value)))
                                            : fmt::format("{:.7g}", value);
  };
  return {text(change.before), text(change.after)};
}

std::string step_text(const Change& change) {
  if (change.metric == metric::outcome) return change.after > change.before ? "worse" : "better";
  if (metric::is_exact(change.metric))
    return fmt::format("{:+} B", static_cast<Size>(change.after - change.before));
  if (change.metric == metric::estimate_ratio) return fmt::format("{:+.2g}", change.after - change.before);
  const std::optional<double> relative = change.relative();
  return relative ? format_change(*relative, 1) : "–";
}

std::string after_text(const Change& change) {
  std::string after = level_texts(change).second;
  if (!change.now) return after;
  Change present = change;
  present.after = *change.now;
  return fmt::format("{}, now {}", after, level_texts(present).second);
}

namespace {

std::string range_text(const std::vector<const Change*>& changes) {
  const auto size = [](const Change* change) {
    return change->metric == metric::gpu_time_ns ? std::abs(change->relative().value_or(0))
                                                 : std::abs(change->after - change->before);
  };
  const auto [least, most] = std::ranges::minmax(changes, {}, size);
  const std::string smallest = step_text(*least);
  const std::string largest = step_text(*most);
  return smallest == largest ? largest : smallest + " to " + largest;
}

}  // namespace

std::string steps_text(const std::vector<const Change*>& changes) {
  std::string steps = range_text(changes);
  const bool is_undone_in_part =
      std::ranges::any_of(changes, [](const Change* change) { return change->now.has_value(); });
  if (!is_undone_in_part) return steps;
  std::vector<Change> present;
  present.reserve(changes.size());
  std::vector<const Change*> shown;
  for (const Change* const change : changes) {
    present.push_back(*change);
    present.back().after = change->now.value_or(change->after);
    shown.push_back(&present.back());
  }
  return steps + ", now " + range_text(shown);
}

namespace {

/// Returns the levels of the worst change, and the steps of all.
std::string levels_text(const Change& worst, const std::vector<const Change*>& changes) {
  return fmt::format("{} → {} ({})", level_texts(worst).first, after_text(worst), steps_text(changes));
}

}  // namespace

std::string levels_text(const Change& change) {
  return levels_text(change, {&change});
}

std::vector<std::string> cause_texts(const Change& change) {
  std::vector<std::string> texts = allocation_texts(change);
  if (!change.message.empty()) texts.push_back(change.message);
  return texts;
}

std::string resolution_text(const DeviceHistory& history, const Change& change) {
  const TextStyle style = console_style();
  if (change.acceptance) {
    const Acceptance& one = history.acceptances[*change.acceptance];
    return plain_text(fmt::format("accepted by {} on {}: {}", one.who, day(one.when), one.reason));
  }
  if (!change.recovered_in) return change.state == State::recovered ? "recovered gradually" : "";
  const HistoryRun& run = history.runs[*change.recovered_in];
  std::string text = fmt::format("fixed in run {} ({})", style.text(run.id), day(run.date));
  if (!run.commit.empty()) text += ", commit " + style.commit(run.commit);
  const std::string commit = commit_text(run, style);
  return commit.empty() ? text : text + ": " + commit;
}

std::string progress_text(const CommonFinding& common) {
  const DeviceHistory& history = *common.device->history;
  const Finding& finding = common.finding;
  const Change& worst = finding.worst();
  const HistoryRun& run = history.runs[worst.first];
  std::set<std::string> days;
  std::vector<std::string> resolutions;
  for (const DeviceFinding& part : common.parts) {
    for (const Change* const change : part.finding.changes) {
      days.insert(day(part.device->history->runs[change->first].date));
      std::string resolution = resolution_text(*part.device->history, *change);
      if (std::ranges::find(resolutions, resolution) == resolutions.end())
        resolutions.push_back(std::move(resolution));
    }
  }
  std::string text = finding.changes.size() == 1 ? levels_text(worst) : steps_text(finding.changes);
  if (days.size() > 1) {
    text += fmt::format(", since {} to {}", *days.begin(), *days.rbegin());
  } else {
    text += ", since " + *days.begin();
    if (!run.commit.empty()) {
      text += ", commit " + plain_text(short_commit(run.commit)) +
              commits_note(history.runs[worst.last_before], run, console_style());
    }
    const std::string reported = day(history.runs[worst.raised].date);
    if (reported != *days.begin()) text += ", reported on " + reported;
  }
  if (!resolutions.front().empty())
    text += "; " + resolutions.front() + (resolutions.size() > 1 ? ", and more" : "");
  return text;
}

std::string machine_text(const DeviceHistory& history, const Finding& finding) {
  const std::optional<SharedStep>& shared = finding.worst().shared;
  if (!shared) return {};
  std::vector<double> steps;
  for (const Change* const change : finding.changes) steps.push_back(change->relative().value_or(0));
  const double step = median_in_place(steps);
  return fmt::format("{} of {} cases are {:.1f} % {} since run {}: suspect the machine", shared->cases,
                     shared->of, std::abs(step) * 100, step > 0 ? "slower" : "faster",
                     history.runs[shared->run].id);
}

std::string cases_text(const Finding& finding, const TextStyle& style) {
  std::string name = style.name(finding.worst().case_name);
  if (finding.changes.size() == 1) return name;
  if (const std::optional<SharedStep>& shared = finding.worst().shared)
    return fmt::format("{} of {} cases, largest: {}", finding.changes.size(), shared->of, name);
  const std::size_t others = finding.variants.size() - 1;
  return fmt::format("{}{}, {} cases, largest: {}", style.name(finding.variant),
                     others == 0 ? "" : " and " + quantity(others, "other variant"), finding.changes.size(),
                     name);
}

std::string devices_text(const CommonFinding& finding) {
  std::vector<std::string> names;
  for (const DeviceFinding& part : finding.parts) {
    const DeviceHistory& history = *part.device->history;
    const bool is_named_twice = std::ranges::any_of(finding.parts, [&](const DeviceFinding& other) {
      return other.device != part.device && other.device->history->device == history.device;
    });
    names.push_back(plain_text(is_named_twice ? fmt::format("{} ({})", history.device, history.backend)
                                              : history.device));
  }
  if (names.size() == 1) return names.front();
  return fmt::format("{} devices: {}", names.size(), fmt::join(names, ", "));
}

std::string why_text(const DeviceTrends& device, const Finding& finding, const TextStyle& style) {
  const Change& change = finding.worst();
  Reasons reasons;
  if (change.shared) reasons.add(style.text(machine_text(*device.history, finding)));
  add_moved_allocations(change, style, reasons);
  if (!change.message.empty()) reasons.add(style.text(shortened(change.message, kMaxMessage)));
  for (const std::string& one : change.environment) reasons.add(style.text("different " + one));
  add_commits(device, change, style, reasons);
  if (change.verdict == Verdict::suspicious && !change.state)
    reasons.add(style.text("not confirmed yet: `run --confirm` or the next run decides"));
  if (!change.reference.empty()) reasons.add(style.text("relative to the reference " + change.reference));
  std::vector<std::string> listed;
  for (const Change* const other : finding.with_it) {
    if (std::ranges::find(listed, other->metric) != listed.end()) continue;
    listed.push_back(other->metric);
    reasons.add(style.text(fmt::format("with it {} {}", other->metric, step_text(*other))));
  }
  return reasons.text();
}

std::string summary_text(const CommonFinding& finding) {
  const Change& worst = finding.finding.worst();
  std::string text =
      fmt::format("{}: {}: {} {}", to_string(worst.verdict), cases_text(finding.finding, console_style()),
                  worst.metric, levels_text(worst, finding.finding.changes));
  if (finding.parts.size() > 1) text += ", on " + devices_text(finding);
  const std::string why = why_text(*finding.device, finding.finding, console_style());
  if (!why.empty()) text += "; " + why;
  return text;
}

}  // namespace peakmark::trend
