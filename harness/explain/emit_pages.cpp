#include <fmt/format.h>

#include "base/text.hpp"
#include "base/text_table.hpp"
#include "explain/emit_inside.hpp"

namespace peakmark::emitting {
namespace {

std::string title(const VariantFormulas& variant) {
  const std::string words = variant.words_text();
  return variant.variant + (words.empty() ? "" : " " + words);
}

std::string latex_text(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (std::string_view("&%$#_{}").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c == '\\' || c == '^' || c == '~' ? ' ' : c;
  }
  return escaped;
}

}  // namespace

std::string markdown_page(const std::vector<VariantFormulas>& variants, const RunContext& context,
                          const EmitOptions& options) {
  std::string text;
  for (const VariantFormulas& variant : variants) {
    text += "### " + markdown_cell(title(variant)) + "\n\n";
    MarkdownTable table({{"allocation"}, {"where"}, {"phase"}, {"count"}, {"bytes"}}, kMarkdownLimit);
    for (const ExplainedAllocation& one : variant.explanation.allocations) {
      table.add({one.name, variant.site(one.where), phase_name(one.phase),
                 to_text(*one.count.formula, ExpressionStyle::display),
                 to_text(*one.bytes.formula, ExpressionStyle::display)});
    }
    text += table.text() +
            "\npeak = " + markdown_cell(to_text(*variant.explanation.peak(), ExpressionStyle::display)) +
            "\n\n";
  }
  for (const std::string& line : origin(variants, context, options)) text += markdown_cell(line) + "\n";
  return text;
}

std::string latex_page(const std::vector<VariantFormulas>& variants, const RunContext& context,
                       const EmitOptions& options) {
  std::string text;
  for (const std::string& line : origin(variants, context, options)) text += "% " + one_line(line) + "\n";
  for (const VariantFormulas& variant : variants) {
    text += fmt::format("\\paragraph{{{}}}\n\\begin{{tabular}}{{lll}}\n", latex_text(title(variant)));
    for (const ExplainedAllocation& one : variant.explanation.allocations) {
      text += fmt::format(
          "{} & {} & ${}$ \\\\\n", latex_text(one.name), latex_text(phase_name(one.phase)),
          to_text(Expression::multiply({*one.count.formula, *one.bytes.formula}), ExpressionStyle::latex));
    }
    text += fmt::format("\\end{{tabular}}\n\\[ \\mathrm{{peak}} = {} \\]\n",
                        to_text(*variant.explanation.peak(), ExpressionStyle::latex));
  }
  return text;
}

}  // namespace peakmark::emitting
