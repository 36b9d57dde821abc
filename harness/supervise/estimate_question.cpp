#include "supervise/estimate_question.hpp"

#include <algorithm>
#include <sstream>

#include "base/error.hpp"
#include "runfile/observation_json.hpp"

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

std::string estimate_json(const std::string& variant, const std::string& parameters,
                          std::optional<Size> available_bytes, const EstimateReply& reply) {
  Json json = json_fields::begin(format::kEstimate);
  json.update(Json{{"variant", variant},
                   {"parameters", Json::parse(parameters)},
                   {"available_bytes", json_fields::or_null(available_bytes)},
                   {"slices", json_fields::or_null(reply.slices)},
                   {"bytes", json_fields::or_null(reply.bytes)},
                   {"dtype", json_fields::or_null(reply.dtype)},
                   {"terms", reply.terms.empty() ? Json(nullptr) : json_fields::to_json(reply.terms)},
                   {"output_dimensions", json_fields::null_if_empty(reply.output_dimensions)},
                   {"padding", json_fields::null_if_empty(reply.padding)}});
  return json_fields::pretty(json, 1);
}

std::vector<EstimateReply> ask_estimators(const std::filesystem::path& worker,
                                          const std::vector<std::string>& questions,
                                          std::chrono::milliseconds limit) {
  if (questions.empty()) return {};
  const std::string by_hand =
      "; by hand: echo '" + questions.front() + "' | " + worker.string() + " --estimate";
  WorkerCommand command{worker, {"--estimate"}, {}, ""};
  for (const std::string& question : questions) command.input += question + "\n";
  Answer answer;
  try {
    answer = ask(command, limit);
  } catch (const NoAnswer& late) {
    throw ProtocolError(late.what() + by_hand);
  }
  std::vector<EstimateReply> replies;
  if (answer.end.exit_code == 0) {
    std::istringstream lines(answer.output);
    for (std::string line; replies.size() < questions.size() && std::getline(lines, line);) {
      replies.push_back(parse_estimate_reply(line));
    }
  }
  if (replies.size() == questions.size()) return replies;
  throw ProtocolError(worker.string() + " --estimate gave no answer and ended with " + answer.how_it_ended() +
                      by_hand);
}

EstimateReply ask_estimator(const std::filesystem::path& worker, const std::string& question,
                            std::chrono::milliseconds limit) {
  return ask_estimators(worker, {question}, limit).front();
}

}  // namespace peakmark
