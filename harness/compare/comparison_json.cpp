#include "compare/moved_json.hpp"
#include "compare/recordings.hpp"

namespace peakmark {

std::string comparison_json(const RecordingComparison& comparison) {
  using json_fields::Json;
  Json cases = Json::array();
  for (const MetricChange& metric : comparison.metrics) {
    Json one = {{"case", comparison.next.program},
                {"metric", metric.metric},
                {"base", metric.base},
                {"new", metric.next},
                {"relative", json_fields::or_null(metric.relative)},
                {"interval", nullptr},
                {"verdict", to_string(metric.change)},
                {"allocations", nullptr}};
    if (&metric == &comparison.metrics.front()) {
      one["allocations"] = moved_json(comparison.moved);
      one["allowed"] = comparison.peak_grew() && !comparison.is_regression();
    }
    cases.push_back(std::move(one));
  }
  Json refused = Json::array();
  for (const auto& [request, base_count, new_count] : comparison.refused) {
    const std::string_view name = allocation_error_name(request.error);
    refused.push_back({{"bytes", request.bytes},
                       {"kind", to_string(request.kind)},
                       {"error", request.error},
                       {"error_name", name.empty() ? Json(nullptr) : Json(name)},
                       {"phase", request.phase},
                       {"frames", request.frames.empty() ? Json(nullptr) : Json(request.frames)},
                       {"base_count", base_count},
                       {"new_count", new_count}});
  }
  Json json = json_fields::begin(format::kComparison);
  json.update(Json{{"base", {{"file", comparison.base.file}, {"program", comparison.base.program}}},
                   {"new", {{"file", comparison.next.file}, {"program", comparison.next.program}}},
                   {"allow_growth", comparison.allowed_growth.text},
                   {"cases", std::move(cases)},
                   {"refused", std::move(refused)}});
  return json_fields::pretty(json);
}

}  // namespace peakmark
