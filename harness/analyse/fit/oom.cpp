#include "analyse/fit/oom.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>

#include "base/error.hpp"
#include "base/pattern.hpp"
#include "base/report.hpp"
#include "base/text.hpp"
#include "measure/check/junit_tests.hpp"
#include "measure/runfile/json_fields.hpp"

namespace peakmark {
namespace {

using json_fields::Json;

constexpr std::array<std::string_view, 8> kOutcomes{"not_refused", "handled", "retried",  "leaked",
                                                    "hung",        "crashed", "unusable", "wrong_result"};

/// Returns whether a line indicates a lack of memory to users and programs: by a word, which the names of
/// error codes contain, too, or by the number of an error code next to the name of the API or of its
/// function.
bool names_memory(const std::string& line) {
  static const Pattern word("memory|alloc|out[_ ]of[_ ]resources|oom", Pattern::Letters::any_case);
  static const Pattern opencl(R"((^|\W)(cl[A-Z]\w*|cl::|CL[_ ]|[Oo]pen[Cc][Ll]|OPENCL))");
  // CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_RESOURCES, CL_OUT_OF_HOST_MEMORY
  static const Pattern opencl_code(R"((^|[^\w-])-[456](?![\w%]|\.\d))");
  static const Pattern cuda(R"((^|\W)(cu(da)?[A-Z]\w*|hip[A-Z]\w*|[Cc][Uu][Dd][Aa]|HIP))");
  // CUDA_ERROR_OUT_OF_MEMORY, cudaErrorMemoryAllocation, hipErrorOutOfMemory. Other small numbers are
  // devices, streams and lines, so the line must name an error.
  static const Pattern cuda_code(
      R"(((err|error|errno|code|status|result|returned|failed)\W{0,4}|(cu|hip)\w+(\(\))?\s*[:=]+\s*)2(?![\w%]|\.\d))",
      Pattern::Letters::any_case);
  return word.is_in(line) || (opencl.is_in(line) && opencl_code.is_in(line)) ||
         (cuda.is_in(line) && cuda_code.is_in(line));
}

Size live_at_end(const Observation& observation) {
  Size live = 0;
  if (!observation.allocation_sequence) return 0;
  for (const SequencedAllocation& one : *observation.allocation_sequence) {
    if (!one.released_at) live += one.bytes;
  }
  return live;
}

/// Returns how a program continued after the allocation `index` was refused.
std::string how_it_went_on(Size index, const Observation& reference, const Observation& refused) {
  if (!refused.allocation_sequence) return "";
  const AllocationSequence& before = *reference.allocation_sequence;
  const AllocationSequence& after = *refused.allocation_sequence;
  const auto place = static_cast<std::size_t>(index) - 1;
  if (after.size() < before.size()) return "went on without it";
  if (place >= after.size()) return "";
  if (after[place].bytes < before[place].bytes)
    return fmt::format("went on with {} instead", format_size(after[place].bytes));
  return after[place].bytes == before[place].bytes ? "allocated it again" : "";
}

constexpr std::string_view kNamesNoMemory = "the message does not name memory";

/// Returns the last line of the program that names memory, else its last line, or the whole message if it is
/// more informative.
std::string short_message(const Refusal& refusal) {
  if (refusal.last_lines.empty() || refusal.outcome == RefusalOutcome::unusable)
    return one_line(refusal.message);
  const bool is_silent = refusal.outcome == RefusalOutcome::crashed && refusal.exit_code;
  // Not std::views::reverse, because clang 14 cannot compile that of GCC 12.
  const auto naming = std::find_if(refusal.last_lines.rbegin(), refusal.last_lines.rend(), names_memory);
  return one_line(naming != refusal.last_lines.rend() ? *naming : refusal.last_lines.back()) +
         (is_silent ? fmt::format("; {}", kNamesNoMemory) : "");
}

/// Refusals of one call site with the same outcome.
struct SiteRow {
  RefusalOutcome outcome;
  std::string where;
  std::vector<const Refusal*> refusals;

  [[nodiscard]] const Refusal& largest() const {
    return **std::ranges::max_element(refusals, {}, &Refusal::bytes);
  }
};

std::string place(const Refusal& refusal) {
  if (refusal.name.empty() && refusal.where.empty()) return fmt::format("allocation {}", refusal.index);
  if (refusal.name.empty() || refusal.where.empty()) return refusal.name + refusal.where;
  return refusal.name + ", " + refusal.where;
}

std::vector<SiteRow> site_rows(const OomReport& report) {
  std::vector<SiteRow> rows;
  for (const Refusal& one : report.refusals) {
    const auto found = std::ranges::find_if(
        rows, [&](const SiteRow& row) { return row.outcome == one.outcome && row.where == place(one); });
    if (found == rows.end()) {
      rows.push_back({one.outcome, place(one), {&one}});
    } else {
      found->refusals.push_back(&one);
    }
  }
  std::ranges::stable_sort(rows, std::greater{},
                           [](const SiteRow& row) { return std::pair(row.outcome, row.largest().bytes); });
  return rows;
}

/// Returns `; write a part of a call chain, such as fft.py:5 < main.py:7, blur.py:3 < main.py:9`.
std::string places_text(const AllocationSequence& allocations) {
  constexpr std::size_t kMaxShown = 3;
  constexpr std::size_t kMaxBytes = 80;
  std::vector<std::string> places;
  for (const SequencedAllocation& one : allocations) {
    const std::string place = shortened(one.where.empty() ? one.name : one.where, kMaxBytes);
    if (!place.empty() && std::ranges::find(places, place) == places.end()) places.push_back(place);
    if (places.size() == kMaxShown) break;
  }
  return places.empty() ? ""
                        : fmt::format("; write a part of a name or a call chain, such as {}",
                                      fmt::join(places, ", or "));
}

std::string indices_cell(const SiteRow& row) {
  constexpr std::size_t kMaxShown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(row.refusals.size(), kMaxShown); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", row.refusals[i]->index);
  return row.refusals.size() > kMaxShown ? text + ", …" : text;
}

Fields<SiteRow> site_fields() {
  return {
      {"outcome", As::text, &SiteRow::outcome},
      {"where", As::text, &SiteRow::where},
      {"refused", As::number, [](const SiteRow& row) { return row.refusals.size(); }},
      {"largest", As::size, [](const SiteRow& row) { return row.largest().bytes; }},
      {"allocations", As::text, indices_cell},
      {"exit code", As::number, [](const SiteRow& row) { return row.refusals.front()->exit_code; }},
      {"message", As::text, [](const SiteRow& row) { return short_message(*row.refusals.front()); }, "", ""}};
}

}  // namespace

template <EitherConst<Refusal> T, typename Fields>
void for_each_field(T& refusal, Fields& fields) {
  fields("allocation", refusal.index);
  fields("bytes", refusal.bytes);
  fields.null_if_empty("name", refusal.name);
  fields.null_if_empty("where", refusal.where);
  fields("outcome", refusal.outcome);
  fields("exit_code", refusal.exit_code);
  fields("leaked_bytes", refusal.leaked_bytes);
  fields("last_lines", refusal.last_lines);
  fields.null_if_empty("message", refusal.message);
}

static Json to_json(RefusalOutcome outcome) {
  return to_string(outcome);
}

static void read(const Json& json, RefusalOutcome& outcome) {
  const auto name = json.get<std::string>();
  const auto* const found = std::ranges::find(kOutcomes, name);
  if (found == kOutcomes.end()) throw ProtocolError(fmt::format("'{}' is not an outcome of a refusal", name));
  outcome = static_cast<RefusalOutcome>(found - kOutcomes.begin());
}

std::string_view to_string(RefusalOutcome outcome) {
  return kOutcomes.at(static_cast<std::size_t>(outcome));
}

bool is_failure(RefusalOutcome outcome) {
  return outcome >= RefusalOutcome::hung;
}

Refusal judge_refusal(Size index, const Observation& reference, const Observation& refused,
                      std::optional<bool> is_same_result) {
  Refusal refusal;
  refusal.index = index;
  refusal.message = refused.message;
  if (refused.program_failure) {
    refusal.exit_code = refused.program_failure->exit_code;
    refusal.last_lines = refused.program_failure->last_lines;
  }
  if (refused.allocation_sequence)
    refusal.leaked_bytes = std::max<Size>(0, live_at_end(refused) - live_at_end(reference));
  const auto ended = [&](RefusalOutcome outcome) {
    refusal.outcome = outcome;
    return refusal;
  };
  if (refused.outcome == Outcome::ok && !refused.failed_allocations) {
    refusal.exit_code = 0;
    refusal.message = "this run did not make the allocation, or it could not be refused";
    return ended(RefusalOutcome::not_refused);
  }
  // Variants have this figure; a program has it only if it marks its end.
  if (refused.leaked_bytes.value_or(0) > reference.leaked_bytes.value_or(0)) {
    refusal.message =
        fmt::format("{} not released; {}", quantity(*refused.leaked_bytes, "byte"), refused.message);
    refusal.leaked_bytes = *refused.leaked_bytes - reference.leaked_bytes.value_or(0);
    return ended(RefusalOutcome::leaked);
  }
  switch (refused.outcome) {
    case Outcome::timeout:
      return ended(RefusalOutcome::hung);
    case Outcome::wrong_answer:
      return ended(RefusalOutcome::wrong_result);
    case Outcome::ok:
      break;
    case Outcome::out_of_memory:
    case Outcome::crashed:
    case Outcome::unsupported:
      if (refused.outcome == Outcome::unsupported) return ended(RefusalOutcome::handled);
      // A variant that threw OutOfMemoryError.
      if (refused.outcome == Outcome::out_of_memory && !refused.program_failure)
        return ended(RefusalOutcome::handled);
      if (refusal.exit_code && std::ranges::any_of(refusal.last_lines, names_memory))
        return ended(RefusalOutcome::handled);
      if (refusal.exit_code) refusal.message += fmt::format("; {}", kNamesNoMemory);
      return ended(RefusalOutcome::crashed);
  }
  refusal.exit_code = 0;
  if (is_same_result == false) {
    refusal.message = "the compared file differs from that of the run without a refusal, or is missing";
    return ended(RefusalOutcome::wrong_result);
  }
  if (refusal.leaked_bytes.value_or(0) > 0) {
    refusal.message = fmt::format("{} more live at the end", quantity(*refusal.leaked_bytes, "byte"));
    return ended(RefusalOutcome::leaked);
  }
  refusal.message = how_it_went_on(index, reference, refused);
  return ended(RefusalOutcome::retried);
}

void add_next_case(Refusal& refusal, const Observation& reference, const Observation& next) {
  if (next.outcome == reference.outcome && next.requested_peak_bytes == reference.requested_peak_bytes)
    return;
  refusal.outcome = RefusalOutcome::unusable;
  refusal.message = fmt::format(
      "{}; afterwards, without a refusal: {}", refusal.message,
      next.outcome == reference.outcome
          ? fmt::format("another peak: {}", quantity(next.requested_peak_bytes.value_or(0), "byte"))
          : fmt::format("{}: {}", to_string(next.outcome), next.message));
}

std::vector<Size> choose_refusals(const AllocationSequence& allocations, const RefusalChoice& choice) {
  const auto count = static_cast<Size>(allocations.size());
  for (const Size index : choice.indices) {
    if (index > count)
      throw UsageError(
          fmt::format("--allocations: {}: the program makes {}", index, quantity(count, "allocation")));
  }
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < allocations.size(); ++i) {
    const SequencedAllocation& one = allocations[i];
    if (!choice.indices.empty() &&
        std::ranges::find(choice.indices, static_cast<Size>(i) + 1) == choice.indices.end())
      continue;
    const bool is_wanted = choice.only.empty() || one.where.find(choice.only) != std::string::npos ||
                           one.name.find(choice.only) != std::string::npos;
    if (is_wanted) chosen.push_back(i);
  }
  if (chosen.empty() && !choice.only.empty())
    throw UsageError(
        fmt::format("--only: no allocation is made at '{}'{}", choice.only, places_text(allocations)));
  if (choice.sample && !chosen.empty()) {
    std::set<std::size_t> sample{chosen.front(), chosen.back()};
    sample.insert(
        *std::ranges::max_element(chosen, {}, [&](std::size_t index) { return allocations[index].bytes; }));
    std::set<std::pair<std::string, std::string>> sites;
    for (const std::size_t index : chosen) {
      if (sites.emplace(allocations[index].where, allocations[index].name).second) sample.insert(index);
    }
    chosen.assign(sample.begin(), sample.end());
  }
  if (choice.count && static_cast<Size>(chosen.size()) > *choice.count) {
    std::mt19937_64 random(choice.seed);
    // The Fisher-Yates shuffle, because std::shuffle differs between libraries.
    for (std::size_t i = chosen.size() - 1; i > 0; --i) std::swap(chosen[i], chosen[random() % (i + 1)]);
    chosen.resize(static_cast<std::size_t>(*choice.count));
    std::ranges::sort(chosen);
  }
  std::vector<Size> indices;
  indices.reserve(chosen.size());
  for (const std::size_t index : chosen) indices.push_back(static_cast<Size>(index) + 1);
  return indices;
}

std::string oom_text(const OomReport& report) {
  Size failures = 0;
  Size leaking = 0;  // programs that leaked and ended with an error
  Size not_refused = 0;
  for (const Refusal& one : report.refusals) {
    if (one.outcome == RefusalOutcome::handled && one.leaked_bytes.value_or(0) > 0) ++leaking;
    if (one.outcome == RefusalOutcome::not_refused) ++not_refused;
  }
  const std::vector<SiteRow> rows = site_rows(report);
  for (const SiteRow& row : rows) {
    if (is_failure(row.outcome)) failures += static_cast<Size>(row.refusals.size());
  }
  std::string text =
      fmt::format("{} on {}: {}, {} refused\n", report.program, report.device,
                  quantity(report.allocations, "allocation"), report.refusals.size() - not_refused);
  text += rows_text(site_fields(), rows);
  text += fmt::format("\n{}: {}\n", quantity(report.refusals.size(), "refusal"),
                      failures > 0 ? quantity(failures, "failure")
                      : report.is_program && !report.is_result_compared
                          ? "none crashed or hung"
                          : "none crashed, hung or changed the result");
  if (report.is_program && !report.is_result_compared)
    text += "results were not compared: --compare-output FILE compares a file that the program writes\n";
  if (leaking > 0)
    text += fmt::format("{} ended with device memory that the program did not release itself\n",
                        quantity(leaking, "run"));
  if (not_refused > 0)
    text += fmt::format("{}: does the program allocate the same in each run?\n",
                        quantity(not_refused, "allocation was not refused", "allocations were not refused"));
  for (const std::string& note : report.notes) text += note + "\n";
  return plain_text(text);
}

std::string oom_json(const OomReport& report) {
  return json_fields::pretty({{"program", report.program},
                              {"device", report.device},
                              {"allocations", report.allocations},
                              {"result_compared", report.is_result_compared},
                              {"refusals", json_fields::to_json(report.refusals)},
                              {"notes", report.notes}});
}

OomReport parse_oom_json(const std::string& text) {
  const Json json = Json::parse(text);
  OomReport report;
  json_fields::field(json, "refusals", report.refusals);
  json_fields::field(json, "notes", report.notes);
  return report;
}

std::string oom_junit(const OomReport& report) {
  JunitSuite suite{report.program, {}};
  suite.tests.reserve(report.refusals.size());
  for (const Refusal& one : report.refusals) {
    JunitTest& test = suite.tests.emplace_back();
    test.name = fmt::format("{} ({})", one.index, place(one));
    test.class_name = "oom";
    if (!is_failure(one.outcome) && one.outcome != RefusalOutcome::not_refused) continue;
    test.result = is_failure(one.outcome) ? JunitTest::Result::failed : JunitTest::Result::skipped;
    test.type = to_string(one.outcome);
    test.message = one.message;
  }
  return junit_text(suite);
}

}  // namespace peakmark
