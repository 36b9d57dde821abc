#include "run/list_json.hpp"

#include "run/json_fields.hpp"
// json_fields.hpp before these: it sets how nlohmann is compiled.
#include "run/context_json.hpp"

namespace peakmark {

using json_fields::Json;

std::string list_json(const Suite& suite, const std::vector<PlannedCase>& cases) {
  Json list = Json::array();
  for (const PlannedCase& planned : cases) list.push_back(to_json(planned));
  Json json = json_fields::begin(format::kCases);
  json.update(Json{{"suite", suite.name}, {"fingerprint", suite.fingerprint}, {"cases", list}});
  return json_fields::pretty(json, 1);
}

}  // namespace peakmark
