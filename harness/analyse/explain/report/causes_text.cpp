#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "analyse/explain/report/reports.hpp"
#include "base/text.hpp"

namespace peakmark {
namespace {

// Returns `1 of 4 allocations of 4·n·ny·nx`; empty for a single one.
std::string copies_text(const EstimateCause& cause) {
  if (cause.of < 2 || !cause.each) return "";
  const std::string copies = cause.copies == cause.of ? fmt::format("all {}", cause.of)
                                                      : fmt::format("{} of {}", cause.copies, cause.of);
  return fmt::format("{} allocations of {}", copies, to_text(*cause.each, ExpressionStyle::display));
}

std::string difference_text(const EstimateCause& cause) {
  std::string bytes;
  if (cause.bytes) {
    bytes = to_text(*cause.bytes, ExpressionStyle::display);
  } else {
    std::vector<Size> sizes = cause.recorded;
    std::erase(sizes, 0);
    const auto [min, max] = std::ranges::minmax(sizes);
    bytes = min == max ? fmt::format("{} bytes", min) : fmt::format("{} to {} bytes (no formula)", min, max);
  }
  if (cause.kind == EstimateCause::Kind::missing || cause.kind == EstimateCause::Kind::extra) return bytes;
  if (cause.is_mixed) return bytes + " off";
  return bytes + (cause.is_too_high ? " too many" : " too few");
}

std::string same_bytes_text(const VariantFormulas& variant, const EstimateCause& cause) {
  std::vector<std::string> others;
  for (const auto& [allocation, where] : cause.same_bytes) {
    const std::string site = variant.site(where);
    const bool has_both = !allocation.empty() && !site.empty();
    others.push_back(has_both ? fmt::format("{} ({})", allocation, site) : allocation + site);
  }
  return others.empty() ? "" : fmt::format("the same bytes as {}", fmt::join(others, ", "));
}

std::string cause_text(const VariantFormulas& variant, const EstimateCause& cause) {
  const std::string copies = copies_text(cause);
  const bool is_missing = cause.kind == EstimateCause::Kind::missing;
  std::string text = fmt::format("  {}: {}", to_string(cause.kind),
                                 is_missing && !copies.empty() ? copies : difference_text(cause));
  if (!cause.condition.empty()) {
    text += cause.condition.starts_with("at ") ? " " : " when ";
    text += cause.condition;
  }
  if (!is_missing && !copies.empty()) text += ", " + copies;
  if (!cause.allocation.empty()) text += ", " + cause.allocation;
  if (!cause.where.empty()) text += ", " + variant.site(cause.where);
  if (!cause.process.empty()) text += ", by the process " + cause.process;
  const std::string others = same_bytes_text(variant, cause);
  if (!cause.reason.empty()) text += ": " + cause.reason;
  if (!others.empty()) text += (cause.reason.empty() ? ": " : "; ") + others;
  return text + "\n";
}

// Returns the reason and the last line of a traceback: `exception: … TypeError: f() takes 2 arguments`.
std::string shortened_error(const std::string& error) {
  const std::size_t first = error.find('\n');
  const std::size_t last = error.rfind('\n', error.find_last_not_of('\n'));
  if (first == std::string::npos || last == std::string::npos) return one_line(error);
  const std::string begin = error.substr(0, first);
  return begin.substr(0, begin.find("Traceback")) + "… " + one_line(error.substr(last + 1));
}

}  // namespace

std::string findings_text(const VariantFormulas& variant, const EstimatorFindings& findings) {
  if (findings.compared == 0)
    return fmt::format("  {}: not compared: {}\n", findings.estimator, shortened_error(findings.error));
  std::string text;
  if (!findings.error.empty())
    text += fmt::format("  {}: {}\n", findings.estimator, shortened_error(findings.error));
  if (findings.wrong == 0)
    return text + fmt::format("  {}: exact at {} {}\n", findings.estimator,
                              findings.error.empty() ? "all" : "the other",
                              quantity(findings.compared, "shape"));
  text += fmt::format("  {}: wrong at {} of {}\n", findings.estimator, findings.wrong,
                      quantity(findings.compared, "shape"));
  for (const EstimateCause& cause : findings.causes) text += "  " + cause_text(variant, cause);
  return text;
}

std::string cause_line(const VariantFormulas& variant, const EstimateCause& cause) {
  const std::string text = cause_text(variant, cause);
  const std::size_t begin = text.find_first_not_of(' ');
  return text.substr(begin, text.size() - begin - 1);  // without indentation and end of line
}

std::string causes_text(const FormulaReport& report) {
  std::string text;
  for (const EstimatorFindings& one : report.findings) {
    const VariantFormulas& variant = report.variants[one.variant];
    if (!one.causes.empty()) text += variant.title() + "\n" + findings_text(variant, one);
  }
  return text;
}

}  // namespace peakmark
