#include "supervise/worker_program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <sstream>

#include "base/error.hpp"
#include "base/program.hpp"
#include "base/text.hpp"
#include "runfile/description_json.hpp"
#include "runfile/json_fields.hpp"

namespace peakmark {

namespace {

namespace fs = std::filesystem;

constexpr const char* kDefaultWorker = "peakmark-bench";
constexpr const char* kProgramsWorker = "peakmark-programs";
constexpr const char* kWorkerLibrary = "libpeakmark-worker.so";
constexpr int kNotStarted = 127;  // as the system's loader ends a program whose libraries it does not find

/// Where the libraries of workers stand that belong to this program.
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

/// What to do where a worker ended before its main().
std::string remedy_for(const Answer& answer) {
  if (!answer.end.exit_code) {
    return "; start it by hand with --describe, or under a debugger, to see where it dies";
  }
  if (answer.end.exit_code != kNotStarted || answer.errors.find(kWorkerLibrary) == std::string::npos)
    return "";
  return "; was peakmark moved since the worker was built? Build that anew, or let LD_LIBRARY_PATH name " +
         folder_of_libraries();
}

/// A program that knows no --describe, such as one with a window, may wait for ever.
Answer ask_for_description(const WorkerCommand& command, std::chrono::milliseconds limit, int interrupt) {
  try {
    return ask(command, limit, interrupt);
  } catch (const NoAnswer& late) {
    throw ProtocolError(
        std::string(late.what()) +
        "; --describe takes a moment, for it measures nothing: look for what the program does "
        "before Worker::run, in main() and in its static objects, such as opening a device or "
        "waiting for a file, and start it by hand with --describe; or is it no worker?");
  }
}

constexpr std::size_t kMaxBytesShown = 80;
// The limit of an answer is that of a batch, so that it does not depend on the size of the suite.
constexpr std::size_t kMaxCasesOfAQuestion = 10'000;

using CasesOfQuestion = std::span<const PlannedCase* const>;

struct CheckAnswer {
  std::string name;
  std::optional<std::string> error;
  bool of_worker = false;  ///< the error is a mistake in the worker's program, not in the suite
};

CheckAnswer parse_answer(const std::string& line) {
  CheckAnswer answer;
  const Json json = Json::parse(line);
  json_fields::field(json, "case", answer.name);
  json_fields::field(json, "error", answer.error);
  if (json.contains("of_worker")) json_fields::field(json, "of_worker", answer.of_worker);
  return answer;
}

/// The worker ended, or was ended, mostly before it had answered for all cases.
std::string end_text(const std::string& how, const WorkerCommand& command, CasesOfQuestion cases,
                     std::string_view answers) {
  const auto answered = static_cast<std::size_t>(std::ranges::count(answers, '\n'));
  if (answered >= cases.size()) {
    return how + "; it had answered for every case: look for what it does at its end, in static objects too";
  }
  const PlannedCase& unanswered = *cases[answered];
  return fmt::format(
      "{}; it gave no answer for {} ({}): look for what its variant does while a case is made, in `mistake` "
      "and in the constructor; alone: echo {} | {} {}",
      how, unanswered.name, unanswered.place, unanswered.name, command.program.string(),
      fmt::join(command.arguments, " "));
}

Answer ask_about(CasesOfQuestion cases, WorkerCommand command, int interrupt) {
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

/// The first mistake that a worker finds, and how many more there are.
struct Found {
  const PlannedCase* first = nullptr;
  CheckAnswer mistake;
  int more = 0;
};

void read_answers(CasesOfQuestion cases, const std::string& output, const std::filesystem::path& worker,
                  Found& found) {
  std::istringstream lines(output);
  auto planned = cases.begin();
  for (std::string line; std::getline(lines, line); ++planned) {
    try {
      CheckAnswer one = parse_answer(line);
      if (planned == cases.end() || one.name != (*planned)->name) {
        throw ProtocolError(worker.string() + " --check answers for '" + one.name +
                            "', which is not its turn");
      }
      if (!one.error) continue;
      if (found.first != nullptr) {
        ++found.more;
        continue;
      }
      found.first = *planned;
      found.mistake = std::move(one);
    } catch (const Json::exception& error) {
      throw ProtocolError(fmt::format(
          "{} --check answers '{}', which is no answer ({}); a worker must print nothing to standard output "
          "while a case is made",
          worker.string(), peakmark::one_line(shortened(line, kMaxBytesShown)),
          json_fields::message_of(error)));
    }
  }
}

/// Where the suite is right and the worker wrong, nobody should look at the suite.
std::string mistake_text(const WorkerCommand& command, const PlannedCase& planned, const CheckAnswer& answer,
                         int more) {
  const std::string others = more == 0 ? "" : fmt::format(" (and {} more such cases)", more);
  if (!answer.of_worker)
    return fmt::format("{}: sweep: gives the case {}: {}{}", planned.place, planned.name, *answer.error,
                       others);
  return fmt::format(
      "{}: {}{}; the mistake is in the worker's program and not in the suite: mend it there and build it "
      "anew. It was met at {} ({})",
      command.program.string(), *answer.error, others, planned.name, planned.place);
}

}  // namespace

fs::path find_programs_worker() {
  const fs::path folder = own_program_folder();
  // In a build folder this program stands in harness/cli.
  for (const fs::path& place : {folder, folder.parent_path() / "external"}) {
    if (is_executable(place / kProgramsWorker)) return place / kProgramsWorker;
  }
  throw EnvironmentError("the suite has programs, and what measures them is missing: " +
                         (folder / kProgramsWorker).string() + " is not there; install peakmark whole");
}

fs::path find_worker(const std::optional<std::string>& named, const std::string& typed) {
  if (named) {
    const std::vector<std::string> environment = current_environment();
    const std::string trouble = program_failure(environment, *named);
    if (!trouble.empty()) throw UsageError("--worker " + (typed.empty() ? *named : typed) + ": " + trouble);
    return fs::absolute(find_program(environment, *named).value());
  }
  const fs::path folder = own_program_folder();
  fs::path beside = folder / kDefaultWorker;
  if (is_executable(beside)) return beside;
  // In a build folder this program stands in harness/cli.
  fs::path built = folder.parent_path().parent_path() / "bench" / kDefaultWorker;
  if (is_executable(built)) return built;
  throw EnvironmentError("no worker: " + beside.string() + " is not there; name one with --worker");
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

using json_fields::Json;

void check_cases(const std::filesystem::path& worker, const Description& description,
                 const std::vector<PlannedCase>& all_cases, int interrupt,
                 const std::vector<std::string>& arguments) {
  if (!description.checks_cases) return;
  std::vector<const PlannedCase*> cases;
  for (const PlannedCase& planned : all_cases) {
    if (description.variant(planned.sweep_case.variant) != nullptr) cases.push_back(&planned);
  }
  if (cases.empty()) return;
  WorkerCommand command{worker, arguments, {}, ""};
  command.arguments.emplace_back("--check");
  Found found;
  for (std::size_t begin = 0; begin < cases.size(); begin += kMaxCasesOfAQuestion) {
    const CasesOfQuestion batch =
        CasesOfQuestion(cases).subspan(begin, std::min(kMaxCasesOfAQuestion, cases.size() - begin));
    read_answers(batch, ask_about(batch, command, interrupt).output, worker, found);
  }
  if (found.first != nullptr) {
    throw UsageError(mistake_text(command, *found.first, found.mistake, found.more));
  }
}

}  // namespace peakmark
