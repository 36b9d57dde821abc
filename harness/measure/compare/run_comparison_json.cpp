#include <fmt/format.h>

#include "base/difference.hpp"
#include "measure/compare/moved_fields.hpp"
#include "measure/compare/run_comparison.hpp"
#include "measure/runfile/observation_json.hpp"

namespace peakmark {
namespace {

using json_fields::Json;
using json_fields::or_null;

Json side_json(const ComparedSide& side) {
  return {{"file", side.file},
          {"variant", json_fields::null_if_empty(side.variant)},
          {"id", side.id},
          {"date", side.date},
          {"commit", side.commit},
          {"build", side.build},
          {"worker", side.worker},
          {"device", side.device},
          {"driver", side.driver},
          {"platform", side.platform},
          {"host_name", side.host_name}};
}

Json case_json(const CaseComparison& one, const std::string& metric) {
  return {{"case", one.name},
          {"base_case", one.base_name},
          {"status", to_string(one.status())},
          {"metric", metric}};
}

Json bytes_json(const CaseComparison& one, const BytesComparison& bytes) {
  Json row = case_json(one, bytes.metric);
  row["base"] = or_null(bytes.base);
  row["new"] = or_null(bytes.next);
  row["relative"] = or_null(bytes.relative);
  row["interval"] = nullptr;
  row["levels"] = json_fields::null_if_empty(levels_text(bytes));
  row["verdict"] = bytes.change ? Json(to_string(*bytes.change)) : Json(nullptr);
  row["allocations"] =
      bytes.metric == "requested_peak_bytes" ? rows_json(moved_fields(), bytes.moved) : Json(nullptr);
  row["unsteady"] = bytes.unsteady;
  row["allowed"] = bytes.allowed;
  row["too_small"] = bytes.too_small;
  return row;
}

Json metric_json(const CaseComparison& one, const MetricComparison& metric) {
  Json row = case_json(one, metric.name);
  row["base"] = or_null(metric.base);
  row["new"] = or_null(metric.next);
  row["relative"] = or_null(metric.relative());
  row["interval"] = nullptr;
  const bool is_compared = metric.base && metric.next;
  row["levels"] =
      is_compared ? Json(fmt::format("{:.6g} -> {:.6g}", *metric.base, *metric.next)) : Json(nullptr);
  row["verdict"] = is_compared ? Json(metric.differs() ? "changed" : "same") : Json(nullptr);
  row["allocations"] = nullptr;
  row["better"] = json_fields::null_if_empty(metric.direction);
  return row;
}

Json time_json(const CaseComparison& one, const TimeComparison& time) {
  Json row = case_json(one, "gpu_time_ns");
  const auto& change = time.change;
  const auto of_change = [&](auto member) { return change ? Json((*change).*member) : Json(nullptr); };
  row["base"] = of_change(&TimeChange::base_ns);
  row["new"] = of_change(&TimeChange::new_ns);
  row["relative"] = of_change(&TimeChange::relative);
  row["interval"] = nullptr;
  if (change && change->interval) row["interval"] = {change->interval->low, change->interval->high};
  row["levels"] = change ? Json(fmt::format("{} ({})", levels_text(time), format_change(change->relative, 1)))
                         : Json(nullptr);
  row["verdict"] = to_string(time.verdict);
  row["allocations"] = nullptr;
  row["p"] = of_change(&TimeChange::p);
  row["adjusted_p"] = change ? Json(time.adjusted_p) : Json(nullptr);
  row["min_effect"] = of_change(&TimeChange::min_effect);
  row["base_blocks"] = of_change(&TimeChange::base_blocks);
  row["new_blocks"] = of_change(&TimeChange::new_blocks);
  row["pass"] = time.pass;
  row["advice"] = json_fields::null_if_empty(time.advice);
  row["base_throughput"] = to_json(one.base_throughput);
  row["new_throughput"] = to_json(one.new_throughput);
  return row;
}

Json outcome_json(const CaseComparison& one) {
  Json row = case_json(one, "outcome");
  row["base"] = to_string(one.base_outcome);
  row["new"] = to_string(one.new_outcome);
  row["relative"] = nullptr;
  row["interval"] = nullptr;
  row["levels"] = fmt::format("{} -> {}", to_string(one.base_outcome), to_string(one.new_outcome));
  const bool is_same = one.base_outcome == one.new_outcome;
  row["verdict"] = one.is_lost() ? "lost" : is_same ? "skipped" : "changed";
  row["allocations"] = nullptr;
  row["message"] = one.message;
  return row;
}

}  // namespace

nlohmann::ordered_json comparison_json(const RunComparison& comparison) {
  Json::array_t cases;
  for (const CaseComparison& one : comparison.cases) {
    if (one.base_outcome != one.new_outcome || one.is_skipped()) cases.push_back(outcome_json(one));
    for (const BytesComparison& bytes : one.bytes) {
      if (bytes.base || bytes.next) cases.push_back(bytes_json(one, bytes));
    }
    for (const MetricComparison& metric : one.metrics) cases.push_back(metric_json(one, metric));
    if (one.time) cases.push_back(time_json(one, *one.time));
  }
  Json json = json_fields::begin(format::kComparison);
  json.update(Json{{"headline", headline(comparison)},
                   {"exit_code", static_cast<int>(exit_code_of(comparison))},
                   {"base", side_json(comparison.base)},
                   {"new", side_json(comparison.next)},
                   {"interleaved", comparison.interleaved},
                   {"allow_growth", comparison.allowed_growth.text},
                   {"cases", std::move(cases)},
                   {"only_base", comparison.only_base},
                   {"only_new", comparison.only_new},
                   {"notes", comparison.notes}});
  return json;
}

}  // namespace peakmark
