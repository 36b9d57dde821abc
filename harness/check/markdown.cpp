#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/size.hpp"
#include "base/text.hpp"
#include "check/reports.hpp"
#include "runfile/throughput.hpp"

namespace peakmark {
namespace {

/// Of all that fails, or of the verdict that is counted, as expected or skipped.
std::string what_to_do(const JudgedCase& sweep_case) {
  if (sweep_case.judgement() < Judgement::fail) return markdown_cell(sweep_case.worst()->advice);
  std::string text;
  for (const Verdict* const verdict : sweep_case.verdicts) {
    if (verdict->judgement >= Judgement::fail) {
      text += (text.empty() ? "" : "<br>") + markdown_cell(verdict->advice);
    }
  }
  return text;
}

std::string row_of(const JudgedCase& sweep_case, const RunContext& context) {
  const Verdict* worst = sweep_case.worst();
  std::string judgement(text_of(sweep_case.judgement()));
  // A batch too small for its slices to be judged: there is nothing to do.
  const bool is_small =
      worst != nullptr && worst->judgement == Judgement::counted && worst->rule == Rule::window_slices;
  const std::string advice = worst == nullptr || is_small ? "" : what_to_do(sweep_case);
  if (is_small) judgement = "pass (granularity)";
  std::string peak = "–";
  std::string time = "–";
  std::string rate = "–";
  if (sweep_case.observation != nullptr) {
    const Observation& observation = *sweep_case.observation;
    if (observation.requested_peak_bytes) peak = format_size(*observation.requested_peak_bytes);
    time = time_text(observation);
    rate = rate_text(throughput_of(observation, context));
  }
  const auto figure = sweep_case.figure(Rule::window_bytes);
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", markdown_code(sweep_case.name), judgement,
                     peak, time, rate, figure ? fmt::format("{:.3f}", *figure) : "–", advice);
}

/// How far a ratio is from the middle of what is allowed: the worst of equals comes first.
double distance(const JudgedCase& sweep_case) {
  const auto figure = sweep_case.figure(Rule::window_bytes);
  return figure ? std::abs(*figure - 1) : 0;
}

std::string device_line(const RunContext& context) {
  // `dry` has no driver, and its name is its backend's.
  std::string details = context.device == context.backend ? "" : context.backend;
  if (!context.driver.empty()) details += (details.empty() ? "driver " : ", driver ") + context.driver;
  std::string line =
      "Device: " + markdown_cell(context.device) + (details.empty() ? "" : " (" + details + ")");
  if (context.device_is_cpu) line += ". Times are CPU times, not a GPU's";
  return line + ".\n";
}

}  // namespace

std::string markdown(const Run& run, const std::vector<Verdict>& verdicts, const JudgeOptions& options) {
  const ExitCode code = exit_code_of(run, verdicts);
  std::string text = code == ExitCode::clean ? "**No action needed.** " : "**Action needed.** ";
  text += markdown_cell(headline(run, verdicts)) + ".\n\n" + device_line(run.context);
  for (const std::string& note : notes_on(options)) text += "\n" + markdown_cell(note) + ".\n";
  if (!run.context.warnings.empty()) text += "\nWhat the run warned of:\n\n";
  for (const std::string& warning : run.context.warnings) text += "- " + markdown_cell(warning) + "\n";

  std::vector<JudgedCase> cases = by_case(run, verdicts);
  std::stable_sort(cases.begin(), cases.end(), [](const JudgedCase& a, const JudgedCase& b) {
    if (a.judgement() != b.judgement()) return a.judgement() > b.judgement();
    return distance(a) > distance(b);
  });
  text +=
      "\n| case | verdict | peak | time | GB/s | peak / estimate | what to do "
      "|\n|---|---|---:|---:|---:|---:|---|\n";
  std::size_t left_out = 0;
  constexpr std::size_t kRoomForTheLastLine = 100;
  for (const JudgedCase& sweep_case : cases) {
    const std::string row = row_of(sweep_case, run.context);
    if (left_out != 0 || text.size() + row.size() + kRoomForTheLastLine > kMarkdownLimit) {
      ++left_out;
      continue;
    }
    text += row;
  }
  if (left_out != 0) {
    text +=
        "\n" + quantity(left_out, "more case is", "more cases are") + " left out, none worse than these.\n";
  }
  return text;
}

}  // namespace peakmark
