#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "base/text_table.hpp"
#include "compare/case_lines.hpp"

namespace peakmark {
namespace {

constexpr std::size_t kMaxShown = 40;
constexpr std::size_t kMaxNames = 20;

std::string side_line(const char* side, const ComparedSide& one) {
  std::string text = fmt::format("{}  {}", side, one.variant.empty() ? one.file : one.variant);
  if (!one.commit.empty()) text += fmt::format("  commit {}", short_commit(one.commit));
  return plain_text(text + fmt::format("  {}  {}", one.date, one.device)) + "\n";
}

std::string group_text(ComparisonStatus standing, const std::vector<const CaseComparison*>& cases,
                       bool has_throughput) {
  std::vector<TextTable::Column> titles{{"  case"}, {"peak"}, {"time"}, {"effect (95 %)"}, {"verdict"}};
  if (has_throughput) titles.insert(titles.begin() + 3, {"GB/s"});
  const TextTable columns(titles);
  const auto add = [&](TextTable& table, const CaseComparison* one) {
    std::vector<std::string> row{"  " + plain_text(one->name), peak_text(*one), time_text(*one),
                                 effect_text(*one), verdict_text(*one)};
    if (has_throughput) row.insert(row.begin() + 3, rate_text(*one));
    table.add(std::move(row));
  };
  return fmt::format("\n{}\n", title_of(standing)) + first_rows(columns, kMaxShown, cases, add);
}

/// The same advice is told once, with how many cases it is for.
std::string remarks_text(ComparisonStatus standing, const std::vector<const CaseComparison*>& cases) {
  std::string text;
  if (standing == ComparisonStatus::undecided) {
    std::map<std::string, std::size_t> advice;
    for (const CaseComparison* one : cases) ++advice[one->time->advice];
    for (const auto& [what, count] : advice) text += fmt::format("  {}: {}\n", quantity(count, "case"), what);
    return text;
  }
  for (std::size_t i = 0; i < std::min(kMaxShown, cases.size()); ++i) {
    const std::vector<std::string> remarks = remarks_on(*cases[i]);
    if (remarks.empty()) continue;
    text += "  " + plain_text(cases[i]->name) + "\n";
    for (const std::string& remark : remarks) text += "    " + remark + "\n";
  }
  return text;
}

std::string names_text(const char* where, const std::vector<std::string>& names) {
  if (names.empty()) return {};
  std::string text = fmt::format("\nonly {}: {}\n", where, quantity(names.size(), "case"));
  for (std::size_t i = 0; i < std::min(kMaxNames, names.size()); ++i)
    text += "  " + plain_text(names[i]) + "\n";
  return text + more_than(kMaxNames, names.size());
}

}  // namespace

std::string headline(const RunComparison& comparison) {
  const auto groups = by_standing(comparison);
  const auto size_of = [&](ComparisonStatus standing) {
    const auto found = groups.find(standing);
    return found == groups.end() ? std::size_t{0} : found->second.size();
  };
  const std::size_t regressed = size_of(ComparisonStatus::regressed);
  std::string text =
      regressed == 0
          ? fmt::format("nothing regressed in {}", quantity(comparison.cases.size(), "case"))
          : fmt::format("{} of {} regressed", regressed, quantity(comparison.cases.size(), "case"));
  const char* separator = ": ";
  for (const ComparisonStatus standing :
       {ComparisonStatus::suspicious, ComparisonStatus::improved, ComparisonStatus::changed,
        ComparisonStatus::undecided, ComparisonStatus::same, ComparisonStatus::skipped}) {
    if (size_of(standing) == 0) continue;
    text += fmt::format("{}{} {}", separator, size_of(standing), title_of(standing));
    separator = ", ";
  }
  const std::size_t alone = comparison.only_base.size() + comparison.only_new.size();
  if (exit_code_of(comparison) == ExitCode::nothing) text += "; nothing was measured";
  if (alone > 0) text += fmt::format("; {} only on one side", quantity(alone, "case"));
  return text;
}

std::string comparison_table(const RunComparison& comparison) {
  std::string text =
      headline(comparison) + "\n\n" + side_line("base", comparison.base) + side_line("new ", comparison.next);
  if (!comparison.interleaved) {
    text += "not measured in turns: bytes are exact, times end at `suspicious`\n";
  }
  if (!comparison.allowed_growth.is_zero()) text += comparison.allowed_growth.note() + "\n";
  for (const std::string& note : comparison.notes) text += plain_text(note) + "\n";
  for (const auto& [standing, cases] : by_standing(comparison)) {
    text += group_text(standing, cases, comparison.has_throughput);
    text += remarks_text(standing, cases);
  }
  return text + names_text("in the base", comparison.only_base) +
         names_text("in the new", comparison.only_new);
}

}  // namespace peakmark
