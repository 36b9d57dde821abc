#include <nlohmann/json.hpp>
#include <string>

#include "check/reports.hpp"

namespace peakmark {

std::string verdicts_json(const Run& run, const std::vector<Verdict>& verdicts) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const Verdict& verdict : verdicts) {
    Json entry = {{"case", verdict.case_name},
                  {"rule", name_of(verdict.rule)},
                  {"judgement", name_of(verdict.judgement)},
                  {"estimator", nullptr},
                  {"figure", nullptr},
                  {"bound", nullptr},
                  {"advice", verdict.advice}};
    if (!verdict.estimator.empty()) entry["estimator"] = verdict.estimator;
    if (verdict.figure) entry["figure"] = *verdict.figure;
    if (verdict.bound) entry["bound"] = {{"lo", verdict.bound->lo}, {"hi", verdict.bound->hi}};
    list.push_back(std::move(entry));
  }
  const Json whole = {{"headline", headline(run, verdicts)},
                      {"exit_code", static_cast<int>(exit_code_of(run, verdicts))},
                      {"verdicts", std::move(list)}};
  return whole.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace peakmark
