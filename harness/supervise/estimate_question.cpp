#include "supervise/estimate_question.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "runfile/observation_json.hpp"
#include "supervise/external_answer.hpp"
#include "sweep/external_estimator.hpp"

namespace peakmark {

using json_fields::Json;

Parameters parse_parameters(const VariantDescription& variant, const std::vector<std::string>& texts) {
  Parameters parameters = variant.defaults();
  std::vector<std::string> given;
  for (const std::string& text : texts) {
    const auto equals = text.find('=');
    if (equals == std::string::npos) throw UsageError("'" + text + "' is no key=value, such as n=20");
    const std::string name = text.substr(0, equals);
    const AxisDescription& axis = variant.known_axis(name);
    if (std::find(given.begin(), given.end(), name) != given.end()) {
      throw UsageError("axis '" + name + "' is given twice");
    }
    given.push_back(name);
    parameters.set(name, parse_axis_value(axis, text.substr(equals + 1)));
  }
  return parameters;
}

std::string estimate_question(const VariantDescription& variant, const Parameters& parameters,
                              std::optional<Size> available_bytes,
                              const std::optional<std::string>& estimator) {
  Json question{{"variant", variant.name}, {"parameters", json_fields::to_json(parameters)}};
  if (available_bytes) question["available_bytes"] = *available_bytes;
  if (estimator) question["estimator"] = *estimator;
  return json_fields::one_line(question);
}

EstimateReply parse_estimate_reply(const std::string& line) {
  EstimateReply reply;
  try {
    const Json json = Json::parse(line);
    json_fields::field(json, "slices", reply.slices);
    json_fields::field(json, "bytes", reply.bytes);
    json_fields::field(json, "dtype", reply.dtype);
    json_fields::field(json, "error", reply.error);
    const Json& terms = json.at("terms");
    if (!terms.is_null()) json_fields::read(terms, reply.terms);
  } catch (const Json::exception& error) {
    throw ProtocolError(
        "the worker's answer is not an estimate (it must print nothing else to standard output): " +
        json_fields::message_of(error));
  }
  return reply;
}

std::string parse_arguments(const std::vector<std::string>& texts) {
  Json arguments = Json::object();
  for (const std::string& text : texts) {
    const auto equals = text.find('=');
    if (equals == std::string::npos) throw UsageError("'" + text + "' is no key=value, such as n=20");
    const std::string name = text.substr(0, equals);
    if (arguments.contains(name)) throw UsageError("'" + name + "' is given twice");
    const std::string value = text.substr(equals + 1);
    arguments[name] = Json::accept(value) ? Json::parse(value) : Json(value);
  }
  return json_fields::one_line(arguments);
}

std::string to_arguments(const Parameters& parameters) {
  return json_fields::one_line(json_fields::to_json(parameters));
}

namespace {

Json begin_estimate(const std::string& variant, const std::string& parameters,
                    std::optional<Size> available_bytes) {
  Json json = json_fields::begin(format::kEstimate);
  json.update(Json{{"variant", variant},
                   {"parameters", Json::parse(parameters)},
                   {"available_bytes", json_fields::or_null(available_bytes)}});
  return json;
}

Json reply_json(const EstimateReply& reply) {
  return {{"slices", json_fields::or_null(reply.slices)},
          {"bytes", json_fields::or_null(reply.bytes)},
          {"dtype", json_fields::or_null(reply.dtype)},
          {"terms", reply.terms.empty() ? Json(nullptr) : json_fields::to_json(reply.terms)},
          {"output_dimensions", json_fields::null_if_empty(reply.output_dimensions)},
          {"padding", json_fields::null_if_empty(reply.padding)}};
}

}  // namespace

std::string estimate_json(const std::string& variant, const std::string& parameters,
                          std::optional<Size> available_bytes, const EstimateReply& reply) {
  Json json = begin_estimate(variant, parameters, available_bytes);
  json.update(reply_json(reply));
  return json_fields::pretty(json, 1);
}

std::string methods_json(const std::string& module, const std::string& parameters,
                         std::optional<Size> available_bytes, const std::vector<MethodReply>& replies) {
  Json json = begin_estimate(module, parameters, available_bytes);
  json["methods"] = Json::array();
  for (const auto& [method, reply] : replies) {
    Json one = reply_json(reply);
    one["method"] = method;
    one["error"] = json_fields::or_null(reply.error);
    if (reply.error) one["slices"] = one["bytes"] = nullptr;
    json["methods"].push_back(std::move(one));
  }
  return json_fields::pretty(json, 2);
}

std::vector<EstimateReply> ask_estimators(const std::filesystem::path& worker, const std::string& estimator,
                                          const std::vector<std::string>& questions,
                                          const AskLimits& limits) {
  const std::string name = fmt::format("estimator '{}'", estimator);
  const auto command = [&](const std::string& input) {
    return WorkerCommand{worker, {"--estimate"}, {}, input};
  };
  EstimatorProcess process(name, command, questions, kEstimatorSeconds);
  LateAnswers late;
  std::vector<EstimateReply> replies(questions.size());
  for (EstimateReply& reply : replies) {
    reply.error = late.error(name);
    if (reply.error) continue;
    try {
      const std::string line = process.next(limits);
      try {
        reply = parse_estimate_reply(line);
      } catch (const ProtocolError& error) {
        process.discard();
        throw NoEstimateError(NoEstimate::wrong_type, error.what());
      }
    } catch (const NoEstimateError& error) {
      reply.error = error.what();
    }
    late.note(reply.error);
  }
  return replies;
}

EstimateReply ask_estimator(const std::filesystem::path& worker, const std::string& estimator,
                            const std::string& question, const AskLimits& limits) {
  EstimateReply reply = ask_estimators(worker, estimator, {question}, limits).front();
  const auto is = [&](NoEstimate reason) {
    return reply.error && reply.error->starts_with(to_string(reason));
  };
  if (is(NoEstimate::died) || is(NoEstimate::no_answer_in_time))
    *reply.error += fmt::format("; by hand: echo {} | {} --estimate", shell_word(question), worker.string());
  return reply;
}

}  // namespace peakmark
