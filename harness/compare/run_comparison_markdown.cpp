#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "compare/case_lines.hpp"

namespace peakmark {
namespace {

/// The lists at the end need some room too.
constexpr std::size_t kMost = kMarkdownLimit - 100'000;
constexpr std::size_t kMaxListed = 100;

std::string row_of(const CaseComparison& one) {
  std::string remarks;
  for (const std::string& remark : remarks_on(one)) {
    remarks += (remarks.empty() ? "" : "<br>") + markdown_cell(remark.substr(remark.find_first_not_of(' ')));
  }
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", markdown_code(one.name), verdict_text(one),
                     peak_text(one), time_text(one), rate_text(one), effect_text(one), remarks);
}

std::string names_of(const char* where, const std::vector<std::string>& names) {
  if (names.empty()) return {};
  std::string text = fmt::format("\nOnly {} ({}):", where, names.size());
  for (std::size_t i = 0; i < std::min(kMaxListed, names.size()); ++i) text += " " + markdown_code(names[i]);
  if (names.size() > kMaxListed) text += fmt::format(" and {} more", names.size() - kMaxListed);
  return text + "\n";
}

}  // namespace

std::string comparison_markdown(const RunComparison& comparison) {
  std::string text =
      exit_code_of(comparison) == ExitCode::clean ? "**No action needed.** " : "**Action needed.** ";
  text += headline(comparison) + ".\n\n";
  for (const auto& [side, one] : {std::pair{"Base", &comparison.base}, {"New", &comparison.next}}) {
    text += fmt::format("{}: {}{}, {}, {}.\n", side,
                        markdown_code(one->variant.empty() ? one->file : one->variant),
                        one->commit.empty() ? "" : " at " + markdown_code(one->commit), one->date,
                        markdown_cell(one->device));
  }
  if (!comparison.interleaved) {
    text += "\nThe sides were not measured in turns: bytes are exact, times end at `suspicious`.\n";
  }
  if (!comparison.allowed_growth.is_zero()) {
    text += "\n" + markdown_cell(comparison.allowed_growth.note()) + ".\n";
  }
  for (const std::string& note : comparison.notes) text += "\n- " + markdown_cell(note) + "\n";
  std::size_t left_out = 0;
  for (const auto& [standing, cases] : by_standing(comparison)) {
    const bool folded = standing == ComparisonStatus::same || standing == ComparisonStatus::undecided;
    std::string group =
        folded ? fmt::format("\n<details><summary>{}: {}</summary>\n", title_of(standing), cases.size())
               : fmt::format("\n### {}: {}\n", title_of(standing), cases.size());
    group +=
        "\n| case | verdict | peak | time | GB/s | effect (95 %) | why |\n|---|---|---|---|---|---|---|\n";
    for (const CaseComparison* one : cases) {
      const std::string row = row_of(*one);
      if (left_out > 0 || text.size() + group.size() + row.size() > kMost) {
        ++left_out;
      } else {
        group += row;
      }
    }
    text += group + (folded ? "\n</details>\n" : "");
  }
  if (left_out > 0)
    text += "\n" + quantity(left_out, "more row was", "more rows were") + " left out, to stay under 1 MB.\n";
  return text + names_of("in the base", comparison.only_base) + names_of("in the new", comparison.only_new);
}

}  // namespace peakmark
