#include "run/case_check.hpp"

#include "run/json_fields.hpp"
// json_fields.hpp before these: it sets how nlohmann is compiled.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include "base/error.hpp"
#include "run/worker_program.hpp"

namespace peakmark {

using json_fields::Json;

namespace {

struct CheckAnswer {
  std::string name;
  std::optional<std::string> error;
};

CheckAnswer parse_answer(const std::string& line) {
  CheckAnswer answer;
  const Json json = Json::parse(line);
  json_fields::field(json, "case", answer.name);
  json_fields::field(json, "error", answer.error);
  return answer;
}

}  // namespace

void check_cases(const std::filesystem::path& worker, const Description& description,
                 const std::vector<PlannedCase>& all_cases, int interrupt,
                 const std::vector<std::string>& arguments) {
  if (!description.checks_cases) return;
  std::vector<PlannedCase> cases;
  std::ranges::copy_if(all_cases, std::back_inserter(cases), [&](const PlannedCase& planned) {
    return description.variant(planned.the_case.variant) != nullptr;
  });
  if (cases.empty()) return;
  WorkerCommand command{worker, arguments, {}, ""};
  command.arguments.emplace_back("--check");
  for (const PlannedCase& planned : cases) command.input += planned.name + "\n";
  const Answer answer = ask(command, kAnswerLimit, interrupt);
  if (answer.end.exit_code != 0) {
    throw UsageError(worker.string() + " --check ended with " + answer.end.text() +
                     (answer.errors.empty() ? "" : ": " + answer.errors));
  }
  std::istringstream lines(answer.output);
  const PlannedCase* first = nullptr;
  std::string error;
  int more = 0;
  auto planned = cases.begin();
  for (std::string line; std::getline(lines, line); ++planned) {
    try {
      CheckAnswer one = parse_answer(line);
      if (planned == cases.end() || one.name != planned->name) {
        throw UsageError(worker.string() + " --check answers for '" + one.name + "', which is not its turn");
      }
      if (!one.error) continue;
      if (first != nullptr) {
        ++more;
        continue;
      }
      first = &*planned;
      error = std::move(*one.error);
    } catch (const Json::exception& mistake) {
      throw UsageError(worker.string() + " --check: " + json_fields::message_of(mistake));
    }
  }
  if (first != nullptr) {
    throw UsageError(fmt::format("{}: sweep: gives the case {}: {}{}", first->place, first->name, error,
                                 more == 0 ? "" : fmt::format(" (and {} more such cases)", more)));
  }
  if (planned != cases.end())
    throw UsageError(worker.string() + " --check gives no answer for " + planned->name);
}

}  // namespace peakmark
