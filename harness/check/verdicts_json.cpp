#include "check/reports.hpp"
#include "run/json_fields.hpp"

namespace peakmark {

std::string verdicts_json(const Run& run, const std::vector<Verdict>& verdicts) {
  using json_fields::Json;
  Json list = Json::array();
  for (const Verdict& verdict : verdicts) {
    Json entry = {{"case", verdict.case_name},
                  {"rule", name_of(verdict.rule)},
                  {"judgement", name_of(verdict.judgement)},
                  {"estimator", nullptr},
                  {"figure", json_fields::or_null(verdict.figure)},
                  {"bound", nullptr},
                  {"advice", verdict.advice}};
    if (!verdict.estimator.empty()) entry["estimator"] = verdict.estimator;
    if (verdict.bound) entry["bound"] = {{"lo", verdict.bound->lo}, {"hi", verdict.bound->hi}};
    list.push_back(std::move(entry));
  }
  Json whole = json_fields::begin(format::kVerdicts);
  whole.update(Json{{"headline", headline(run, verdicts)},
                    {"exit_code", static_cast<int>(exit_code_of(run, verdicts))},
                    {"verdicts", std::move(list)}});
  return json_fields::pretty(whole);
}

}  // namespace peakmark
