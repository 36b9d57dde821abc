#include <nlohmann/json.hpp>

#include "compare/recordings.hpp"

namespace peakmark {

std::string comparison_json(const RecordingComparison& comparison) {
  using Json = nlohmann::ordered_json;
  Json moved = Json::array();
  for (const MovedAllocations& one : comparison.moved) {
    moved.push_back({{"name", one.name},
                     {"kind", name_of(one.kind)},
                     {"bytes", one.bytes},
                     {"base_count", one.base_count},
                     {"new_count", one.new_count}});
  }
  Json cases = Json::array();
  for (const MetricChange& metric : comparison.metrics) {
    Json one = {{"case", comparison.next.program},
                {"metric", metric.metric},
                {"base", metric.base},
                {"new", metric.next},
                {"relative", nullptr},
                {"interval", nullptr},
                {"verdict", name_of(metric.change)},
                {"allocations", nullptr}};
    if (metric.relative) one["relative"] = *metric.relative;
    if (&metric == &comparison.metrics.front()) one["allocations"] = moved;
    cases.push_back(std::move(one));
  }
  const Json json = {{"base", {{"file", comparison.base.file}, {"program", comparison.base.program}}},
                     {"new", {{"file", comparison.next.file}, {"program", comparison.next.program}}},
                     {"cases", std::move(cases)}};
  // A program's arguments need not be UTF-8; JSON must be.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace peakmark
