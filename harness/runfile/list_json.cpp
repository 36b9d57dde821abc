#include "runfile/list_json.hpp"

#include "runfile/json_fields.hpp"
// json_fields.hpp before these: it sets how nlohmann is compiled.
#include "runfile/context_json.hpp"

namespace peakmark {

using json_fields::Json;

std::string list_json(const Suite& suite, const std::vector<PlannedCase>& cases) {
  Json json = json_fields::begin(format::kCases);
  json.update(Json{{"suite", suite.name}, {"fingerprint", suite.fingerprint}, {"cases", Json::array()}});
  std::string text;
  write_with_planned(json_fields::pretty(json, 1), cases, 1, 1,
                     [&text](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace peakmark
