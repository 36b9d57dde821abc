#include "supervise/worker_line.hpp"

#include "runfile/json_fields.hpp"
// json_fields.hpp before these: it sets how nlohmann is compiled.
#include "base/error.hpp"
#include "runfile/observation_json.hpp"

namespace peakmark {

using json_fields::Json;

WorkerLine parse_worker_line(std::string_view line) {
  try {
    const Json json = Json::parse(line);
    WorkerLine parsed;
    if (json.contains("start")) {
      json_fields::field(json, "start", parsed.start.emplace());
      if (json.contains("bytes")) json_fields::field(json, "bytes", parsed.bytes);
    } else if (json.contains("step")) {
      json_fields::field(json, "step", parsed.step.emplace());
    } else if (json.contains("reference_ns")) {
      ReferenceTime& time = parsed.reference.emplace();
      json_fields::field(json, "reference_ns", time.copy_ns);
      if (json.contains("arithmetic_ns")) json_fields::field(json, "arithmetic_ns", time.arithmetic_ns);
      if (json.contains("copy_bytes")) json_fields::field(json, "copy_bytes", time.copy_bytes);
    } else {
      parsed.observation = observation_from_json(json);
    }
    return parsed;
  } catch (const Json::exception& error) {
    throw ProtocolError(json_fields::message_of(error));
  } catch (const UsageError& error) {  // of an observation, which run files hold too
    throw ProtocolError(error.what());
  }
}

}  // namespace peakmark
