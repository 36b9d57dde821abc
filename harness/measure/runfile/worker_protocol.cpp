#include "measure/runfile/worker_protocol.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "base/error.hpp"
#include "measure/runfile/json_fields.hpp"
#include "measure/runfile/observation_json.hpp"
#include "measure/runfile/run_file.hpp"

namespace peakmark {

using json_fields::Json;

struct CaseStart {
  std::string case_name;
  std::optional<Size> bytes;
};

template <EitherConst<CaseStart> T, typename Fields>
void for_each_field(T& start, Fields& fields) {
  fields("start", start.case_name);
  fields("bytes", start.bytes);
}

template <EitherConst<ReferenceTime> T, typename Fields>
void for_each_field(T& time, Fields& fields) {
  fields("reference_ns", time.copy_ns);
  fields("arithmetic_ns", time.arithmetic_ns);
  fields("copy_bytes", time.copy_bytes);
}

void die_with_supervisor() {
  const pid_t supervisor = ::getppid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != supervisor)
    ::_exit(static_cast<int>(ExitCode::measurement));  // the supervisor ended in between
}

std::vector<std::string> read_case_names(const std::string& file_name) {
  std::ifstream file;
  if (file_name != "-") {
    file.open(file_name);
    if (!file) throw io_error("--cases " + file_name, "cannot be read", errno);
  }
  std::vector<std::string> names;
  for (std::string line; std::getline(file_name == "-" ? std::cin : file, line);)
    if (!line.empty()) names.push_back(line);
  if (names.empty()) throw UsageError(fmt::format("--cases {}: no case in it", file_name));
  return names;
}

std::string to_json_line(const ReferenceTime& time) {
  return json_fields::one_line(json_fields::to_json(time));
}

void ObservationWriter::start(std::string_view case_name, std::optional<Size> bytes) {
  line(json_fields::one_line(json_fields::to_json(CaseStart{std::string(case_name), bytes})));
}

void ObservationWriter::step(std::string_view text) {
  line(json_fields::one_line({{"step", text}}));
}

void ObservationWriter::observation(const Observation& observation) {
  line(to_json_line(observation));
}

void ObservationWriter::answer(const EstimateObservation& answer) {
  line(json_fields::one_line({{"answer", json_fields::to_json(answer)}}));
}

void ObservationWriter::reference(const ReferenceTime& time) {
  line(to_json_line(time));
}

void ObservationWriter::line(std::string text) {
  if (descriptor_ < 0) return;
  text += '\n';
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw io_error("", "observations cannot be written", errno);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

namespace {

constexpr std::string_view kTimedBegin = "\x1epeakmark timed begin ";
constexpr std::string_view kTimedEnd = "\x1epeakmark timed end ";

}  // namespace

void write_timed_mark(const TimedMark& mark) {
  std::fflush(stdout);
  std::fflush(stderr);
  std::cout.flush();
  std::clog.flush();
  const std::string line = std::string(mark.begins ? kTimedBegin : kTimedEnd) + mark.case_name + "\n";
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
    // A program may have closed its output; then nothing is printed.
    [[maybe_unused]] const ssize_t written = ::write(descriptor, line.data(), line.size());
  }
}

std::optional<TimedMark> take_timed_mark(std::string& line) {
  for (const std::string_view word : {kTimedBegin, kTimedEnd}) {
    const std::size_t at = line.find(word);
    if (at == std::string::npos) continue;
    TimedMark mark{line.substr(at + word.size()), word == kTimedBegin};
    line.resize(at);
    return mark;
  }
  return std::nullopt;
}

WorkerLine parse_worker_line(std::string_view line) {
  try {
    const Json json = Json::parse(line);
    WorkerLine parsed;
    if (json.contains("start")) {
      CaseStart start;
      json_fields::read(json, start);
      parsed.start = std::move(start.case_name);
      parsed.bytes = start.bytes;
    } else if (json.contains("step")) {
      json_fields::field(json, "step", parsed.step.emplace());
    } else if (json.contains("answer")) {
      json_fields::field(json, "answer", parsed.answer.emplace());
    } else if (json.contains("reference_ns")) {
      json_fields::read(json, parsed.reference.emplace());
    } else {
      parsed.observation = observation_from_json(json);
    }
    return parsed;
  } catch (const Json::exception& error) {
    throw ProtocolError(json_fields::message_of(error));
  } catch (const UsageError& error) {  // thrown for observations, which run files have, too
    throw ProtocolError(error.what());
  }
}

}  // namespace peakmark
