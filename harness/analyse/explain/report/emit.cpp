#include "analyse/explain/report/emit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "analyse/explain/report/emit_parts.hpp"
#include "base/error.hpp"

namespace peakmark {
namespace {

void check_variant_formulas(const VariantFormulas& variant) {
  const auto peak = variant.explanation.peak();
  if (!peak)
    throw UsageError(
        fmt::format("{} {}: the peak has no formula, so no estimator is written; without --emit the "
                    "reasons are printed",
                    variant.variant, variant.words_text()));
  if (const auto& unknown = variant.explanation.unknown_beyond; !unknown.empty())
    throw UsageError(
        fmt::format("{} {}: at other shapes the peak may be at a moment with {}, which has no formula, so no "
                    "estimator is written; record larger shapes",
                    variant.variant, variant.words_text(), fmt::join(unknown, ", ")));
  for (const RecordedCases& cases : variant.cases) {
    for (std::size_t shape = 0; shape < cases.observations.size(); ++shape) {
      const Observation& observation = *cases.observations[shape];
      const Size formula = evaluate(*peak, cases.shapes, shape);
      if (!observation.requested_peak_bytes || formula == *observation.requested_peak_bytes) continue;
      throw UsageError(
          fmt::format("{}: the formula gives {} bytes, but {} were recorded; no estimator is written",
                      observation.case_name, formula, *observation.requested_peak_bytes));
    }
  }
}

// An estimator is asked only by variant and words, so all backends must have the same formula.
void check_backends(const std::vector<VariantFormulas>& variants) {
  for (const VariantFormulas& one : variants) {
    for (const VariantFormulas& other : variants) {
      if (one.variant != other.variant || one.backend == other.backend) continue;
      if (*one.explanation.peak() == *other.explanation.peak()) continue;
      throw UsageError(
          fmt::format("{}: its formulas on {} and {} differ, so no estimator is written; record one of them",
                      one.variant, one.backend, other.backend));
    }
  }
}

}  // namespace

EmitForm parse_emit_form(const std::string& name) {
  if (name == "python") return EmitForm::python;
  if (name == "cpp") return EmitForm::cpp;
  if (name == "toml") return EmitForm::toml;
  throw UsageError(fmt::format("--emit {}: unknown form; write python, cpp or toml", name));
}

std::string emit(const std::vector<VariantFormulas>& variants, const RunContext& context,
                 const EmitOptions& options) {
  using namespace emitting;
  for (const VariantFormulas& variant : variants) check_variant_formulas(variant);
  check_backends(variants);
  switch (options.form) {
    case EmitForm::python:
      return python_module(variants, context, options);
    case EmitForm::cpp:
      return cpp_header(variants, context, options);
    case EmitForm::toml:
      return toml_estimator(variants, context, options);
  }
  return "";
}

}  // namespace peakmark
