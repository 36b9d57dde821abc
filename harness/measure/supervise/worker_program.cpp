#include "measure/supervise/worker_program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <span>
#include <sstream>

#include "base/error.hpp"
#include "base/program.hpp"
#include "base/text.hpp"
#include "measure/runfile/description_json.hpp"
#include "measure/runfile/json_fields.hpp"

namespace peakmark {

namespace {

namespace fs = std::filesystem;
using json_fields::Json;

constexpr const char* kDefaultWorker = "peakmark-bench";
constexpr const char* kProgramsWorker = "peakmark-programs";
constexpr const char* kWorkerLibrary = "libpeakmark-worker.so";
constexpr int kNotStarted = 127;  // exit code if the system's loader does not find a program's libraries

/// Returns the folder with the worker libraries of this program.
std::string folder_of_libraries() {
  for (const fs::path& prefix : own_program_prefixes()) {
    const fs::path folder = prefix / "lib";
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
      if (entry.path().filename().string().starts_with(kWorkerLibrary)) return folder.string();
    }
  }
  return "the folder lib of an installed peakmark";
}

/// Returns advice for a worker that ended before its main().
std::string remedy_for(const Answer& answer) {
  if (!answer.end.exit_code) {
    return "; start it by hand with --describe, or under a debugger, to see where it fails";
  }
  if (answer.end.exit_code != kNotStarted || answer.errors.find(kWorkerLibrary) == std::string::npos)
    return "";
  return "; was peakmark moved since the worker was built? Rebuild the worker, or set LD_LIBRARY_PATH to " +
         folder_of_libraries();
}

/// Asks for the description. A program without --describe, such as one with a window, may never end.
Answer ask_for_description(const WorkerCommand& command, std::chrono::milliseconds limit, int interrupt) {
  try {
    return ask(command, limit, interrupt);
  } catch (const NoAnswer& late) {
    throw ProtocolError(
        std::string(late.what()) +
        "; --describe measures nothing, so it should end at once: check what the program does "
        "before Worker::run, in main() and in its static objects, such as opening a device or "
        "waiting for a file, and start it by hand with --describe; or is it not a worker?");
  }
}

constexpr std::size_t kMaxQuotedAnswerBytes = 80;
// Cases are checked in batches, so that the time limit does not depend on the size of the suite.
constexpr std::size_t kMaxBatchCases = 10'000;

using CaseBatch = std::span<const PlannedCase* const>;

struct CheckAnswer {
  std::string name;
  std::optional<std::string> error;
  bool of_worker = false;  ///< the error is in the worker's program, not in the suite
};

CheckAnswer parse_answer(const std::string& line) {
  CheckAnswer answer;
  const Json json = Json::parse(line);
  json_fields::field(json, "case", answer.name);
  json_fields::field(json, "error", answer.error);
  if (json.contains("of_worker")) json_fields::field(json, "of_worker", answer.of_worker);
  return answer;
}

/// Describes the end of a worker, which usually came before it had answered for all cases.
std::string end_text(const std::string& how, const WorkerCommand& command, CaseBatch cases,
                     std::string_view answers) {
  const auto answered = static_cast<std::size_t>(std::ranges::count(answers, '\n'));
  if (answered >= cases.size()) {
    return how + "; it had answered for every case: check what it does at its end, in static objects too";
  }
  const PlannedCase& unanswered = *cases[answered];
  return fmt::format(
      "{}; it gave no answer for {} ({}): check what its variant does while a case is made, in `mistake` "
      "and in the constructor; reproduce: echo {} | {} {}",
      how, unanswered.name, unanswered.place, unanswered.name, command.program.string(),
      fmt::join(command.arguments, " "));
}

Answer ask_about(CaseBatch cases, WorkerCommand command, int interrupt) {
  for (const PlannedCase* planned : cases) command.input += planned->name + "\n";
  Answer answer;
  try {
    answer = ask(command, kAnswerLimit, interrupt);
  } catch (const NoAnswer& late) {
    throw ProtocolError(end_text(late.what(), command, cases, late.output));
  }
  const auto answers = static_cast<std::size_t>(std::ranges::count(answer.output, '\n'));
  if (answer.end.exit_code == 0 && answers >= cases.size()) return answer;
  throw ProtocolError(
      end_text(fmt::format("{} --check ended with {}", command.program.string(), answer.how_it_ended()),
               command, cases, answer.output));
}

/// The first error that a worker finds, and the number of further ones.
struct CaseErrors {
  const PlannedCase* first = nullptr;
  CheckAnswer mistake;
  int more = 0;
};

/// Returns the answers for a batch: one per case, and any that follow. Throws ProtocolError for an answer
/// that is not about the next case.
std::vector<CheckAnswer> parse_answers(CaseBatch cases, const std::string& output,
                                       const std::filesystem::path& worker) {
  std::istringstream lines(output);
  std::vector<CheckAnswer> answers;
  for (std::string line; std::getline(lines, line);) {
    try {
      CheckAnswer one = parse_answer(line);
      if (answers.size() == cases.size() || one.name != cases[answers.size()]->name) {
        throw ProtocolError(worker.string() + " --check answers for '" + one.name +
                            "', which is not the next case");
      }
      answers.push_back(std::move(one));
    } catch (const Json::exception& error) {
      throw ProtocolError(
          fmt::format("{} --check answers '{}', which is not an answer ({}); a worker must print nothing to "
                      "standard output while a case is made",
                      worker.string(), peakmark::one_line(shortened(line, kMaxQuotedAnswerBytes)),
                      json_fields::message_of(error)));
    }
  }
  return answers;
}

/// Calls `take` with each case of the worker and its answer.
void each_answer(const WorkerCommand& command, const std::vector<const PlannedCase*>& cases, int interrupt,
                 const std::function<void(const PlannedCase&, CheckAnswer&)>& take) {
  for (std::size_t begin = 0; begin < cases.size(); begin += kMaxBatchCases) {
    const CaseBatch batch = CaseBatch(cases).subspan(begin, std::min(kMaxBatchCases, cases.size() - begin));
    std::vector<CheckAnswer> answers =
        parse_answers(batch, ask_about(batch, command, interrupt).output, command.program);
    for (std::size_t i = 0; i < answers.size(); ++i) take(*batch[i], answers[i]);
  }
}

/// Returns the cases of the worker's variants.
std::vector<const PlannedCase*> cases_of_worker(const Description& description,
                                                const std::vector<PlannedCase>& cases) {
  std::vector<const PlannedCase*> own;
  for (const PlannedCase& planned : cases) {
    if (description.variant(planned.sweep_case.variant) != nullptr) own.push_back(&planned);
  }
  return own;
}

WorkerCommand check_command(const std::filesystem::path& worker, const std::vector<std::string>& arguments) {
  WorkerCommand command{worker, arguments, {}, ""};
  command.arguments.emplace_back("--check");
  return command;
}

/// Returns the message of an error. It begins with the suite, or with the worker if the error is there.
std::string mistake_text(const WorkerCommand& command, const PlannedCase& planned, const CheckAnswer& answer,
                         int more) {
  const std::string others = more == 0 ? "" : fmt::format(" (and {} more such cases)", more);
  if (!answer.of_worker)
    return fmt::format("{}: sweep: gives the case {}: {}{}", planned.place, planned.name, *answer.error,
                       others);
  return fmt::format(
      "{}: {}{}; the error is in the worker's program, not in the suite: fix it there and rebuild it. "
      "It was found at {} ({})",
      command.program.string(), *answer.error, others, planned.name, planned.place);
}

/// Returns `build/bin/blur`, `bin/blur`, `blur`, without `.` and `..`.
std::vector<std::filesystem::path> ends_of(const std::filesystem::path& path) {
  std::vector<std::filesystem::path> ends;
  for (const std::filesystem::path& part : path.lexically_normal().relative_path()) {
    if (part == ".." || part == "." || part.empty()) continue;
    for (std::filesystem::path& end : ends) end /= part;
    ends.push_back(part);
  }
  return ends;
}

/// Returns the absolute path of a worker in another build. Throws UsageError if it is not a program.
std::filesystem::path checked_worker(const std::filesystem::path& other, const std::filesystem::path& worker,
                                     const std::string& place) {
  std::filesystem::path program = std::filesystem::absolute(worker);
  const std::string failure = program_failure(current_environment(), program.string());
  if (failure.empty()) return program;
  throw UsageError(fmt::format("{}: {}{}", place, other == worker ? "" : program.string() + ": ", failure));
}

}  // namespace

fs::path find_programs_worker() {
  const fs::path folder = own_program_folder();
  // In a build folder this program is in harness/cli.
  for (const fs::path& place : {folder, folder.parent_path() / "measure" / "external"}) {
    if (is_executable(place / kProgramsWorker)) return place / kProgramsWorker;
  }
  throw EnvironmentError("the suite has programs, and the worker that measures them is missing: " +
                         (folder / kProgramsWorker).string() + " does not exist; install all of peakmark");
}

fs::path find_worker(const std::optional<std::string>& named, const std::string& typed) {
  if (named) {
    const std::vector<std::string> environment = current_environment();
    const std::string failure = program_failure(environment, *named);
    if (!failure.empty()) throw UsageError("--worker " + (typed.empty() ? *named : typed) + ": " + failure);
    return fs::absolute(find_program(environment, *named).value());
  }
  const fs::path folder = own_program_folder();
  fs::path beside = folder / kDefaultWorker;
  if (is_executable(beside)) return beside;
  // In a build folder this program is in harness/cli.
  fs::path built = folder.parent_path().parent_path() / "bench" / kDefaultWorker;
  if (is_executable(built)) return built;
  throw EnvironmentError("no worker: " + beside.string() + " does not exist; name one with --worker");
}

std::filesystem::path find_worker_of(const std::filesystem::path& other, const std::filesystem::path& named,
                                     bool or_default, const std::string& place) {
  const std::string label = place.empty() ? "--build " + other.string() : place;
  std::error_code error;
  if (std::filesystem::is_regular_file(other, error)) return checked_worker(other, other, label);
  std::vector<std::filesystem::path> places = ends_of(named);
  if (!places.empty()) places.push_back("bin" / named.filename());
  if (or_default) {
    places.insert(places.end(), {"bench/peakmark-bench", "bin/peakmark-bench", "peakmark-bench",
                                 "build/prefix/bin/peakmark-bench", "build/release/bench/peakmark-bench"});
  }
  for (const std::filesystem::path& one : places) {
    const std::filesystem::path worker = other / one;
    if (std::filesystem::is_regular_file(worker, error)) return checked_worker(other, worker, label);
  }
  if (!std::filesystem::is_directory(other, error)) throw UsageError(label + ": no such file or folder");
  const std::string where =
      named.empty() ? "a checkout has peakmark-bench in build/prefix/bin, an install prefix in bin, a build "
                      "folder in bench; build it there"
                    : fmt::format("neither {} nor {} is in this folder; build it there", named.string(),
                                  named.filename().string());
  throw UsageError(fmt::format("{}: no worker found: {}, or name the worker itself", label, where));
}

Description describe_worker(const fs::path& program, int interrupt, const std::vector<std::string>& arguments,
                            std::chrono::milliseconds limit) {
  WorkerCommand command{program, arguments, {}, ""};
  command.arguments.emplace_back("--describe");
  const Answer answer = ask_for_description(command, limit, interrupt);
  if (answer.end.exit_code != 0) {
    throw ProtocolError(program.string() + " --describe ended with " + answer.how_it_ended() +
                        remedy_for(answer));
  }
  try {
    return description_from_json(answer.output);
  } catch (const ProtocolError& error) {
    throw ProtocolError(program.string() + ": " + error.what());
  }
}

void check_cases(const std::filesystem::path& worker, const Description& description,
                 const std::vector<PlannedCase>& all_cases, int interrupt,
                 const std::vector<std::string>& arguments) {
  const std::vector<const PlannedCase*> cases = cases_of_worker(description, all_cases);
  const WorkerCommand command = check_command(worker, arguments);
  CaseErrors found;
  each_answer(command, cases, interrupt, [&](const PlannedCase& planned, CheckAnswer& answer) {
    if (!answer.error) return;
    if (found.first != nullptr) {
      ++found.more;
      return;
    }
    found.first = &planned;
    found.mistake = std::move(answer);
  });
  if (found.first != nullptr) {
    throw UsageError(mistake_text(command, *found.first, found.mistake, found.more));
  }
}

std::vector<std::string> case_mistakes(const std::filesystem::path& worker, const Description& description,
                                       const std::vector<PlannedCase>& cases, int interrupt,
                                       const std::vector<std::string>& arguments) {
  std::vector<std::string> mistakes(cases.size());
  each_answer(check_command(worker, arguments), cases_of_worker(description, cases), interrupt,
              [&](const PlannedCase& planned, CheckAnswer& answer) {
                if (answer.error) mistakes[static_cast<std::size_t>(&planned - cases.data())] = *answer.error;
              });
  return mistakes;
}

}  // namespace peakmark
