#include "measure/estimate/worker_estimates.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "measure/runfile/json_fields.hpp"
#include "measure/sweep/external_estimator.hpp"

namespace peakmark {

using json_fields::Json;

std::string estimate_question(const VariantDescription& variant, const Parameters& parameters,
                              std::optional<Size> available_bytes,
                              const std::optional<std::string>& estimator) {
  Json question{{"variant", variant.name}, {"parameters", json_fields::to_json(parameters)}};
  if (available_bytes) question["available_bytes"] = *available_bytes;
  if (estimator) question["estimator"] = *estimator;
  return json_fields::one_line(question);
}

std::vector<EstimateAnswer> ask_estimators(const std::filesystem::path& worker, const std::string& estimator,
                                           const std::vector<std::string>& questions,
                                           const AskLimits& limits) {
  const std::string name = fmt::format("estimator '{}'", estimator);
  const auto command = [&](const std::string& input) {
    return WorkerCommand{worker, {"--estimate"}, {}, input};
  };
  EstimatorProcess process(name, command, questions, kEstimatorSeconds);
  LateAnswers late;
  std::vector<EstimateAnswer> answers(questions.size());
  for (EstimateAnswer& answer : answers) {
    answer.error = late.error(name);
    if (answer.error) continue;
    try {
      const std::string line = process.next(limits);
      try {
        answer = read_answer(line, {});
      } catch (const NoEstimateError&) {
        process.discard();
        throw;
      }
    } catch (const NoEstimateError& error) {
      answer.error = error.what();
    }
    late.note(answer.error);
  }
  return answers;
}

EstimateAnswer ask_estimator(const std::filesystem::path& worker, const std::string& estimator,
                             const std::string& question, const AskLimits& limits) {
  EstimateAnswer answer = ask_estimators(worker, estimator, {question}, limits).front();
  const auto is = [&](NoEstimate reason) {
    return answer.error && answer.error->starts_with(to_string(reason));
  };
  if (is(NoEstimate::died) || is(NoEstimate::no_answer_in_time))
    *answer.error += fmt::format("; by hand: echo {} | {} --estimate", shell_word(question), worker.string());
  return answer;
}

}  // namespace peakmark
