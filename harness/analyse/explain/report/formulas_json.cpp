
#include <algorithm>

#include "analyse/explain/report/reports.hpp"
#include "measure/runfile/json_fields.hpp"

namespace peakmark {
namespace {

using json_fields::Json;

Json formula_json(const std::optional<Expression>& expression) {
  return expression ? Json(to_text(*expression)) : Json();
}

Json axes(const Shapes& shapes, std::size_t shape) {
  Json values = Json::object();
  for (const Shapes::Axis& axis : shapes.axes) values[axis.name] = axis.values[shape];
  return values;
}

Json recorded_sizes(const Figure& figure, const Shapes& shapes) {
  Json sizes = Json::array();
  for (std::size_t i = 0; i < figure.recorded.size(); ++i)
    sizes.push_back({{"axes", axes(shapes, figure.shapes[i])}, {"bytes", figure.recorded[i]}});
  return sizes;
}

Json allocation_json(const ExplainedAllocation& one, const VariantFormulas& variant) {
  Json json{{"name", json_fields::null_if_empty(one.name)},
            {"where", json_fields::null_if_empty(variant.site(one.where))},
            {"process", json_fields::null_if_empty(one.process)},
            {"phase", one.phase},
            {"count", formula_json(one.count.formula)},
            {"bytes", formula_json(one.bytes.formula)}};
  if (!one.bytes.formula) json["recorded"] = recorded_sizes(one.bytes, variant.shapes());
  return json;
}

// Returns the smallest and the largest value of each axis.
Json ranges_json(const Shapes& shapes) {
  Json ranges = Json::object();
  for (const Shapes::Axis& axis : shapes.axes) {
    const auto [min, max] = std::ranges::minmax(axis.values);
    ranges[axis.name] = {min, max};
  }
  return ranges;
}

Json variant_json(const VariantFormulas& variant) {
  const Explanation& explanation = variant.explanation;
  Json allocations = Json::array();
  for (const ExplainedAllocation& one : explanation.allocations)
    allocations.push_back(allocation_json(one, variant));
  Json json{{"variant", variant.variant},
            {"backend", variant.backend},
            {"words", words_json(variant.words)},
            {"fitted", explanation.fitted},
            {"held_out", explanation.held_out},
            {"tested", ranges_json(tested_shapes(variant))},
            {"worst_bytes_off", variant.is_explained() ? Json(0) : Json()},
            {"peak", formula_json(explanation.peak())},
            {"partial_peak", formula_json(explanation.partial_peak())},
            {"allocations", std::move(allocations)},
            {"unexplained_bytes", explanation.unexplained_bytes},
            {"notes", explanation.notes}};
  return json;
}

Json cause_json(const VariantFormulas& variant, const EstimatorFindings& findings,
                const EstimateCause& cause) {
  Json same_bytes = Json::array();
  for (const auto& [allocation, where] : cause.same_bytes)
    same_bytes.push_back({{"allocation", json_fields::null_if_empty(allocation)},
                          {"where", json_fields::null_if_empty(variant.site(where))}});
  return {{"variant", variant.variant},
          {"words", words_json(variant.words)},
          {"estimator", findings.estimator},
          {"kind", to_string(cause.kind)},
          {"allocation", json_fields::null_if_empty(cause.allocation)},
          {"where", json_fields::null_if_empty(variant.site(cause.where))},
          {"process", json_fields::null_if_empty(cause.process)},
          {"copies", cause.of == 0 ? Json() : Json(cause.copies)},
          {"of", cause.of == 0 ? Json() : Json(cause.of)},
          {"same_bytes", std::move(same_bytes)},
          {"bytes", formula_json(cause.bytes)},
          {"too_high", cause.is_mixed ? Json() : Json(cause.is_too_high)},
          {"condition", json_fields::null_if_empty(cause.condition)},
          {"reason", json_fields::null_if_empty(cause.reason)},
          {"text", cause_line(variant, cause)}};
}

Json shapes_json(const Shapes& shapes) {
  Json values = Json::object();
  for (const Shapes::Axis& axis : shapes.axes) values[axis.name] = axis.values;
  return values;
}

Json curve_json(const std::optional<MemoryCurve>& curve) {
  if (!curve) return {};
  Json layers = Json::array();
  for (const CurveLayer& layer : curve->layers)
    layers.push_back({{"name", json_fields::null_if_empty(layer.name)},
                      {"where", json_fields::null_if_empty(layer.where)},
                      {"phase", layer.phase},
                      {"bytes", layer.bytes}});
  Json within;
  if (const auto& shape = curve->within_budget)
    within = {{"axes", axes(curve->shapes, *shape)}, {"bytes", curve->peak[*shape]}};
  return {{"axis", curve->axis},
          {"axes", shapes_json(curve->shapes)},
          {"peak", curve->peak},
          {"layers", std::move(layers)},
          {"unexplained", curve->unexplained},
          {"recorded", {{"axes", shapes_json(curve->recorded)}, {"peak", curve->recorded_peak}}},
          {"budget_bytes", json_fields::or_null(curve->budget_bytes)},
          {"within_budget", std::move(within)}};
}

Json run_json(const RunContext& context) {
  return {{"id", context.id},         {"date", context.date},       {"commit", context.commit},
          {"device", context.device}, {"backend", context.backend}, {"driver", context.driver}};
}

}  // namespace

std::string formulas_json(const FormulaReport& report) {
  Json variants = Json::array();
  for (std::size_t i = 0; i < report.variants.size(); ++i) {
    Json variant = variant_json(report.variants[i]);
    if (i < report.curves.size()) variant["curve"] = curve_json(report.curves[i]);
    variants.push_back(std::move(variant));
  }
  Json json{{"variants", std::move(variants)}};
  if (report.context != nullptr) json["run"] = run_json(*report.context);
  if (!report.findings.empty()) {
    Json errors = Json::array();
    for (const EstimatorFindings& findings : report.findings) {
      const VariantFormulas& variant = report.variants[findings.variant];
      if (!findings.error.empty())
        errors.push_back({{"variant", variant.variant},
                          {"words", words_json(variant.words)},
                          {"estimator", findings.estimator},
                          {"error", findings.error}});
    }
    json["causes"] = causes_json(report);
    json["estimator_errors"] = std::move(errors);
  }
  return json_fields::pretty(json);
}

nlohmann::ordered_json causes_json(const FormulaReport& report) {
  Json all = Json::array();
  for (const EstimatorFindings& findings : report.findings) {
    for (const EstimateCause& cause : findings.causes)
      all.push_back(cause_json(report.variants[findings.variant], findings, cause));
  }
  return all;
}

nlohmann::ordered_json words_json(const std::vector<WordSet>& sets) {
  Json words = Json::object();
  for (const WordSet& set : sets) words[set.axis] = json_fields::to_json(set.words);
  return words;
}

}  // namespace peakmark
