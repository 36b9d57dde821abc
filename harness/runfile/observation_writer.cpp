#include "runfile/observation_writer.hpp"

#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "runfile/json_fields.hpp"
#include "runfile/run_file.hpp"

namespace peakmark {

std::string to_json_line(const ReferenceTime& time) {
  return json_fields::one_line({{"reference_ns", json_fields::or_null(time.copy_ns)},
                                {"arithmetic_ns", json_fields::or_null(time.arithmetic_ns)},
                                {"copy_bytes", json_fields::or_null(time.copy_bytes)}});
}

void ObservationWriter::start(std::string_view case_name, std::optional<Size> bytes) {
  line(json_fields::one_line({{"start", case_name}, {"bytes", json_fields::or_null(bytes)}}));
}

void ObservationWriter::step(std::string_view text) {
  line(json_fields::one_line({{"step", text}}));
}

void ObservationWriter::observation(const Observation& observation) {
  line(to_json_line(observation));
}

void ObservationWriter::reference(const ReferenceTime& time) {
  line(to_json_line(time));
}

void ObservationWriter::line(std::string text) {
  if (descriptor_ < 0) return;
  text += '\n';
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw io_error("", "observations cannot be written", errno);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace peakmark
