#include "measure/compare/speedups.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <utility>

#include "base/report.hpp"
#include "base/text.hpp"
#include "measure/runfile/observation_json.hpp"

namespace peakmark {
namespace {

using json_fields::Json;

CaseRatio case_ratio(const CaseComparison& compared) {
  CaseRatio one{compared.name, compared.base_name, {}, {}, {}};
  const BytesComparison* const peak = compared.find("requested_peak_bytes");
  if (peak != nullptr && peak->base && peak->next && *peak->base > 0)
    one.peak = static_cast<double>(*peak->next) / static_cast<double>(*peak->base);
  if (compared.time && compared.time->change && compared.time->verdict != TimeVerdict::not_comparable) {
    const TimeChange& change = *compared.time->change;
    one.time = 1 + change.relative;
    if (change.interval) one.time_range = Interval{1 + change.interval->low, 1 + change.interval->high};
  }
  return one;
}

/// Returns the geometric mean of the ratios above 0.
std::optional<double> mean_ratio(const std::vector<CaseRatio>& cases,
                                 std::optional<double> CaseRatio::*ratio) {
  std::vector<double> ratios;
  for (const CaseRatio& one : cases) {
    if (one.*ratio && *(one.*ratio) > 0) ratios.push_back(*(one.*ratio));
  }
  return geometric_mean(ratios);
}

std::optional<double> inverse(const std::optional<double>& ratio) {
  return ratio && *ratio > 0 ? std::optional(1 / *ratio) : std::nullopt;
}

std::string range_cell(const CaseRatio& one) {
  return one.time_range ? fmt::format("{:.3f} … {:.3f}", one.time_range->low, one.time_range->high) : "";
}

const Fields<CaseRatio>& case_fields() {
  static const Fields<CaseRatio> fields{
      {"case", As::text, &CaseRatio::case_name, "case"},
      {"", As::hidden, &CaseRatio::base_name, "base_case"},
      {"peak ratio", As::ratio, &CaseRatio::peak, "peak_ratio"},
      {"time ratio", As::ratio, &CaseRatio::time, "time_ratio"},
      {"95 %", As::figure, range_cell},
      {"speed-up", As::ratio, [](const CaseRatio& one) { return inverse(one.time); }, "speed_up"}};
  return fields;
}

const Fields<VariantRatios>& variant_fields() {
  static const Fields<VariantRatios> fields{
      {"geometric mean", As::text, &VariantRatios::variant, "variant"},
      {"shapes", As::number, [](const VariantRatios& one) { return one.cases.size(); }, "shapes"},
      {"peak ratio", As::ratio, &VariantRatios::peak, "peak_ratio"},
      {"time ratio", As::ratio, &VariantRatios::time, "time_ratio"},
      {"speed-up", As::ratio, [](const VariantRatios& one) { return inverse(one.time); }, "speed_up"}};
  return fields;
}

/// Returns a line with the first cases that one side lacks; empty without any.
std::string lacking_text(const std::string& who, const std::vector<std::string>& names) {
  if (names.empty()) return "";
  return fmt::format("\n{} lacks {}:\n", who, quantity(names.size(), "shape")) + case_lines(names);
}

}  // namespace

std::optional<double> geometric_mean(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

Speedups speedups(const RunToCompare& run, const std::string& base_name) {
  Speedups all;
  for (RunComparison& comparison : compare_with_variant(run, base_name)) {
    VariantRatios one;
    one.variant = comparison.next.variant;
    if (comparison.cases.empty()) {
      all.others.push_back(one.variant);
      continue;
    }
    all.base = comparison.base;
    all.notes = comparison.notes;
    all.is_interleaved = comparison.interleaved;
    for (const CaseComparison& compared : comparison.cases) one.cases.push_back(case_ratio(compared));
    one.peak = mean_ratio(one.cases, &CaseRatio::peak);
    one.time = mean_ratio(one.cases, &CaseRatio::time);
    one.only_base = std::move(comparison.only_base);
    one.only_this = std::move(comparison.only_new);
    all.variants.push_back(std::move(one));
  }
  if (all.variants.empty()) {
    throw UsageError(
        fmt::format("{}: no variant has a shape in common with {}; measure two variants of one operation",
                    run.file, base_name));
  }
  return all;
}

ExitCode exit_code_of(const Speedups& speedups) {
  for (const VariantRatios& one : speedups.variants) {
    if (one.peak || one.time) return ExitCode::clean;
  }
  return ExitCode::nothing;
}

std::string speedup_table(const Speedups& speedups) {
  std::string text = plain_text(
      fmt::format("against {}  {}  {}\n", speedups.base.variant, speedups.base.date, speedups.base.device));
  if (!speedups.is_interleaved)
    text += "times were not measured in rounds: a ratio may be the drift of the machine (run --rounds 15)\n";
  for (const std::string& note : speedups.notes) text += plain_text(note) + "\n";
  std::vector<const CaseRatio*> cases;
  for (const VariantRatios& one : speedups.variants) {
    for (const CaseRatio& ratio : one.cases) cases.push_back(&ratio);
  }
  text += "\n" + rows_text(case_fields(), cases) + "\n" + rows_text(variant_fields(), speedups.variants);
  for (const VariantRatios& one : speedups.variants) {
    text += lacking_text(one.variant, one.only_base) + lacking_text(speedups.base.variant, one.only_this);
  }
  if (!speedups.others.empty())
    text += plain_text(fmt::format("\nwithout a shape in common: {}\n", fmt::join(speedups.others, ", ")));
  return text;
}

nlohmann::ordered_json speedup_json(const Speedups& speedups) {
  Json::array_t variants;
  for (const VariantRatios& one : speedups.variants) {
    Json row = row_json(variant_fields(), one);
    Json::array_t cases;
    for (const CaseRatio& ratio : one.cases) {
      Json each = row_json(case_fields(), ratio);
      each["interval"] =
          ratio.time_range ? Json{ratio.time_range->low, ratio.time_range->high} : Json(nullptr);
      cases.push_back(std::move(each));
    }
    row["cases"] = std::move(cases);
    row["only_base"] = one.only_base;
    row["only_this"] = one.only_this;
    variants.push_back(std::move(row));
  }
  Json json = json_fields::begin(format::kComparison);
  json.update(Json{{"against", speedups.base.variant},
                   {"file", speedups.base.file},
                   {"exit_code", static_cast<int>(exit_code_of(speedups))},
                   {"interleaved", speedups.is_interleaved},
                   {"variants", std::move(variants)},
                   {"others", speedups.others},
                   {"notes", speedups.notes}});
  return json;
}

}  // namespace peakmark
