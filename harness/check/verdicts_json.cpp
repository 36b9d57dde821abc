#include "check/reports.hpp"
#include "runfile/json_fields.hpp"
#include "runfile/observation_json.hpp"

namespace peakmark {

namespace {

using json_fields::Json;

/// How fast each case is that has a time.
Json times_json(const Run& run) {
  Json list = Json::array();
  for (const Observation& one : run.observations) {
    if (!one.gpu_time) continue;
    list.push_back({{"case", one.case_name},
                    {"gpu_time_ns", one.gpu_time->median_ns},
                    {"cache", json_fields::or_null(one.cache)},
                    {"gpu_time_hot_ns", one.gpu_time_hot ? Json(one.gpu_time_hot->median_ns) : Json(nullptr)},
                    {"throttled_blocks", json_fields::or_null(one.throttled_blocks)},
                    {"throughput", to_json(throughput_of(one, run.context))}});
  }
  return list;
}

}  // namespace

std::string verdicts_json(const Run& run, const std::vector<Verdict>& verdicts, const JudgeOptions& options) {
  Json list = Json::array();
  for (const Verdict& verdict : verdicts) {
    Json entry = {{"case", verdict.case_name},
                  {"rule", to_string(verdict.rule)},
                  {"judgement", to_string(verdict.judgement)},
                  {"estimator", nullptr},
                  {"figure", json_fields::or_null(verdict.figure)},
                  {"bound", nullptr},
                  {"advice", verdict.advice},
                  {"reason", nullptr}};
    if (verdict.judgement == Judgement::skipped) entry["reason"] = verdict.advice;
    if (!verdict.estimator.empty()) entry["estimator"] = verdict.estimator;
    if (verdict.bound) entry["bound"] = {{"lo", verdict.bound->lo}, {"hi", verdict.bound->hi}};
    list.push_back(std::move(entry));
  }
  Json whole = json_fields::begin(format::kVerdicts);
  whole.update(Json{{"headline", headline(run, verdicts)},
                    {"exit_code", static_cast<int>(exit_code_of(run, verdicts))},
                    {"allow_growth", options.allowed_growth.text},
                    {"window_tolerance_bytes", options.window_tolerance},
                    {"verdicts", std::move(list)},
                    {"times", times_json(run)}});
  return json_fields::pretty(whole);
}

}  // namespace peakmark
