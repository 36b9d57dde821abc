#include <fmt/format.h>

#include "analyse/explain/report/emit_parts.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "measure/sweep/formula.hpp"

namespace peakmark::emitting {
namespace {

// Returns the formula of an estimator in a suite. Throws UsageError if a suite cannot express it.
std::string suite_formula(const VariantFormulas& variant, const EmitOptions& options) {
  std::string text = to_text(*variant.explanation.peak());
  try {
    static_cast<void>(Formula(text));
  } catch (const UsageError& error) {
    throw UsageError(
        fmt::format("{}: a suite cannot have its formula, so no estimator is written; write --emit "
                    "python ({})",
                    variant.variant, error.what()));
  }
  if (options.margin_percent == 0) return text;
  return fmt::format("ceil_div(({}) * {}, 100)", text, 100 + options.margin_percent);
}

}  // namespace

std::string toml_estimator(const std::vector<VariantFormulas>& variants, const RunContext& context,
                           const EmitOptions& options) {
  std::string text;
  for (const std::string& line : origin(variants, context, options)) text += "# " + one_line(line) + "\n";
  text += "\n[[estimator]]\nname = \"explained\"\n";
  for (const VariantFormulas& variant : variants) {
    std::string when = "variant = " + quoted(variant.variant);
    for (const WordSet& set : recorded_words(variant)) {
      const std::string list = literals(set.words);
      when += fmt::format(", {} = {}", set.axis, set.words.size() == 1 ? list : "[" + list + "]");
    }
    for (const auto& [axis, value] : constant_axes(variant)) when += fmt::format(", {} = {}", axis, value);
    text += fmt::format("\n[[estimator.formula]]\nwhen = {{ {} }}\nbytes = {}\n", when,
                        quoted(suite_formula(variant, options)));
  }
  return text;
}

}  // namespace peakmark::emitting
