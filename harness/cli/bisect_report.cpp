#include "cli/bisect_report.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/difference.hpp"
#include "base/size.hpp"
#include "base/text.hpp"
#include "base/text_table.hpp"
#include "measure/runfile/json_fields.hpp"

namespace peakmark::cli {
namespace {

using json_fields::Json;

const char* name_of(TrialVerdict verdict) {
  if (verdict == TrialVerdict::skipped) return "skipped";
  return verdict == TrialVerdict::good ? "good" : "bad";
}

const char* name_of(BisectEnd end) {
  switch (end) {
    case BisectEnd::found:
      return "found";
    case BisectEnd::not_worse:
      return "not_worse";
    case BisectEnd::only_skipped:
      return "only_skipped";
    case BisectEnd::interrupted:
      break;
  }
  return "interrupted";
}

/// The metric of a case on both sides of a comparison, and its relative change. Unknown is empty.
struct Figure {
  Json base;
  Json value;
  Json relative;
  std::string base_text;
  std::string text;
};

Figure figure(const BisectTrial& trial, const std::string& metric) {
  Figure figure;
  if (!trial.comparison) return figure;
  const CaseComparison& one = trial.comparison->cases.front();
  if (one.new_outcome != Outcome::ok || metric == kOutcomeMetric) {
    figure.text = to_string(one.new_outcome);
    if (metric != kOutcomeMetric) return figure;
    figure.base_text = to_string(one.base_outcome);
    figure.base = figure.base_text;
    figure.value = figure.text;
  } else if (metric == kTimeMetric) {
    if (!one.time || !one.time->change) return figure;
    const TimeChange& change = *one.time->change;
    auto [base, next] = format_durations(change.base_ns, change.new_ns);
    figure = {change.base_ns, change.new_ns, change.relative, std::move(base), std::move(next)};
  } else if (const BytesComparison* const bytes = one.find(metric); bytes != nullptr && bytes->next) {
    figure = {json_fields::or_null(bytes->base), *bytes->next, json_fields::or_null(bytes->relative),
              bytes->base ? format_size(*bytes->base) : "",
              format_size_beside(*bytes->next, bytes->base.value_or(*bytes->next))};
  }
  return figure;
}

/// Returns `3000 B -> 3256 B (+8.53 %)`.
std::string change_text(const BisectTrial& trial, const std::string& metric) {
  const Figure found = figure(trial, metric);
  if (found.base.is_null()) return found.text;
  const std::string share =
      found.relative.is_null() ? "" : " (" + format_change(found.relative.get<double>(), 2) + ")";
  return fmt::format("{} -> {}{}", found.base_text, found.text, share);
}

/// Returns `2026-01-31`.
std::string day_of(const CommitInfo& commit) {
  return commit.date.substr(0, commit.date.find('T'));
}

std::string commit_text(const CommitInfo& commit) {
  return fmt::format("{} ({}) {}", short_commit(commit.hash), day_of(commit), one_line(commit.subject));
}

std::string trials_table(const BisectReport& report) {
  TextTable table({{"commit"}, {"verdict"}, {report.metric}, {"date"}, {"subject"}});
  const auto add = [&](const CommitInfo& commit, const char* verdict, const std::string& value) {
    table.add({short_commit(commit.hash), verdict, value, day_of(commit), commit.subject});
  };
  std::string good;
  for (const BisectTrial& one : report.trials) {
    good = figure(one, report.metric).base_text;
    if (!good.empty()) break;
  }
  add(report.good, "good", good);
  for (const BisectTrial& one : report.trials)
    add(one.commit, name_of(one.verdict), figure(one, report.metric).text);
  std::string text = table.text();
  for (const BisectTrial& one : report.trials) {
    if (!one.reason.empty())
      text += fmt::format("{}: {}\n", short_commit(one.commit.hash), one_line(one.reason));
  }
  return text;
}

std::string candidates_text(const BisectReport& report) {
  return fmt::format("the first bad commit is one of {}, after {} up to {}", report.candidates.size(),
                     short_commit(report.last_good.hash), short_commit(report.first_bad.hash));
}

std::string head_text(const BisectReport& report) {
  const auto trial_of = [&](const CommitInfo& commit) { return report.trial(commit.hash); };
  switch (report.end) {
    case BisectEnd::found: {
      std::string text = fmt::format("first bad commit: {}\n", commit_text(report.first_bad));
      if (const BisectTrial* const trial = trial_of(report.first_bad)) {
        text += fmt::format("{}: {}: {}, compared with {}\n\n", report.case_name, report.metric,
                            change_text(*trial, report.metric), short_commit(report.good.hash));
        text += comparison_table(*trial->comparison);
      }
      return text;
    }
    case BisectEnd::not_worse: {
      const BisectTrial* const trial = trial_of(report.bad);
      return fmt::format(
          "{} is not worse in {} than in {}: {}: {}; name an older good commit, another "
          "--case or another --metric\n",
          report.case_name, short_commit(report.bad.hash), short_commit(report.good.hash), report.metric,
          trial == nullptr ? "" : change_text(*trial, report.metric));
    }
    case BisectEnd::only_skipped:
      return candidates_text(report) + "; those between were skipped\n";
    case BisectEnd::interrupted:
      break;
  }
  return "interrupted: " + candidates_text(report) + "\n";
}

Json commit_json(const CommitInfo& commit) {
  return {{"commit", commit.hash}, {"date", commit.date}, {"subject", commit.subject}};
}

}  // namespace

ExitCode bisect_exit_code(const BisectReport& report) {
  switch (report.end) {
    case BisectEnd::found:
      return ExitCode::clean;
    case BisectEnd::not_worse:
      return ExitCode::verdict;
    case BisectEnd::only_skipped:
      return ExitCode::measurement;
    case BisectEnd::interrupted:
      break;
  }
  return ExitCode::interrupted;
}

std::string bisect_text(const BisectReport& report) {
  std::string text = head_text(report) + "\n" + trials_table(report);
  if (!report.command.empty()) {
    text += fmt::format("\n{}:\n  {}\n",
                        report.end == BisectEnd::found ? "compare it with its parent" : "continue with",
                        report.command);
  }
  return text;
}

std::string bisect_json(const BisectReport& report) {
  const bool is_found = report.end == BisectEnd::found;
  Json json = json_fields::begin(format::kBisection);
  json.update({{"end", name_of(report.end)},
               {"exit_code", static_cast<int>(bisect_exit_code(report))},
               {"case", report.case_name},
               {"metric", report.metric},
               {"good", commit_json(report.good)},
               {"bad", commit_json(report.bad)},
               {"first_bad", is_found ? commit_json(report.first_bad) : Json(nullptr)},
               {"candidates", report.candidates},
               {"trials", Json::array()},
               {"comparison", nullptr},
               {"command", json_fields::null_if_empty(report.command)}});
  for (const BisectTrial& one : report.trials) {
    const Figure of = figure(one, report.metric);
    Json row = commit_json(one.commit);
    row["verdict"] = name_of(one.verdict);
    row["reason"] = json_fields::null_if_empty(one.reason);
    row["base"] = of.base;
    row["new"] = of.value;
    row["relative"] = of.relative;
    json["trials"].push_back(std::move(row));
  }
  const BisectTrial* const trial = is_found ? report.trial(report.first_bad.hash) : nullptr;
  if (trial != nullptr && trial->comparison) json["comparison"] = comparison_json(*trial->comparison);
  return json_fields::pretty(json);
}

}  // namespace peakmark::cli
