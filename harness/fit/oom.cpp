#include "fit/oom.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <pugixml.hpp>
#include <random>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/text_table.hpp"
#include "runfile/json_fields.hpp"

namespace peakmark {
namespace {

using json_fields::Json;
using json_fields::or_null;

/// Parts of messages, in lower case, by which people and programs recognise a lack of memory.
constexpr std::array kMemoryWords{"memory", "alloc", "out_of_resources", "out of resources", "oom"};

bool names_memory(std::string message) {
  std::ranges::transform(message, message.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::ranges::any_of(kMemoryWords,
                             [&](const char* word) { return message.find(word) != std::string::npos; });
}

/// Returns what the program itself wrote last. Messages of programs of suites end with it.
std::string last_words(const std::string& message) {
  constexpr std::string_view kBefore = "its last message: ";
  const std::size_t found = message.find(kBefore);
  return found == std::string::npos ? "" : message.substr(found + kBefore.size());
}

/// Reads N of `the program ended with exit code N`.
std::optional<int> exit_code(const std::string& message) {
  constexpr std::string_view kBefore = "ended with exit code ";
  const std::size_t found = message.find(kBefore);
  int code = 0;
  if (found == std::string::npos) return std::nullopt;
  const char* const begin = message.data() + found + kBefore.size();
  const auto read = std::from_chars(begin, message.data() + message.size(), code);
  return read.ec == std::errc() ? std::optional(code) : std::nullopt;
}

Size live_at_end(const Observation& observation) {
  Size live = 0;
  if (!observation.allocation_sequence) return 0;
  for (const SequencedAllocation& one : *observation.allocation_sequence) {
    if (!one.released_at) live += one.bytes;
  }
  return live;
}

/// Returns how a program went on after the allocation `index` was refused.
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

/// Returns the last line of a program's last words, or the whole message if it has none.
std::string short_message(const Refusal& refusal) {
  const std::string words = last_words(refusal.message);
  if (words.empty()) return one_line(refusal.message);
  const std::size_t line = words.rfind(" / ");
  return one_line(line == std::string::npos ? words : words.substr(line + 3));
}

RefusalOutcome parse_refusal_outcome(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(RefusalOutcome::wrong_result); ++i) {
    if (const auto outcome = static_cast<RefusalOutcome>(i); to_string(outcome) == name) return outcome;
  }
  throw ProtocolError(fmt::format("'{}' is no outcome of a refusal", name));
}

/// Refusals of one call site with the same outcome.
struct SiteRow {
  RefusalOutcome outcome;
  std::string where;
  std::vector<const Refusal*> refusals;
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
  std::ranges::stable_sort(rows, std::greater{}, &SiteRow::outcome);
  return rows;
}

std::string indices_cell(const SiteRow& row) {
  constexpr std::size_t kMaxShown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(row.refusals.size(), kMaxShown); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", row.refusals[i]->index);
  return row.refusals.size() > kMaxShown ? text + ", …" : text;
}

}  // namespace

std::string_view to_string(RefusalOutcome outcome) {
  switch (outcome) {
    case RefusalOutcome::not_refused:
      return "not_refused";
    case RefusalOutcome::handled:
      return "handled";
    case RefusalOutcome::retried:
      return "retried";
    case RefusalOutcome::leaked:
      return "leaked";
    case RefusalOutcome::hung:
      return "hung";
    case RefusalOutcome::crashed:
      return "crashed";
    case RefusalOutcome::unusable:
      return "unusable";
    case RefusalOutcome::wrong_result:
      return "wrong_result";
  }
  return "";
}

bool is_failure(RefusalOutcome outcome) {
  return outcome >= RefusalOutcome::hung;
}

Refusal judge_refusal(Size index, const Observation& reference, const Observation& refused,
                      std::optional<bool> is_same_result) {
  Refusal refusal;
  refusal.index = index;
  refusal.message = refused.message;
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
  // Of a variant; a program has it only if it marks its end.
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
      refusal.exit_code = exit_code(refused.message);
      if (refused.outcome == Outcome::unsupported) return ended(RefusalOutcome::handled);
      // A variant, which threw OutOfMemory.
      if (refused.outcome == Outcome::out_of_memory && !refused.message.starts_with("the program ended"))
        return ended(RefusalOutcome::handled);
      if (refusal.exit_code && names_memory(last_words(refused.message)))
        return ended(RefusalOutcome::handled);
      if (refusal.exit_code) refusal.message += "; the message does not name memory";
      return ended(RefusalOutcome::crashed);
  }
  refusal.exit_code = 0;
  if (is_same_result == false) return ended(RefusalOutcome::wrong_result);
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
    throw UsageError(fmt::format("--only: no allocation is made at '{}'", choice.only));
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
    // Fisher and Yates; std::shuffle differs between libraries.
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
  using enum TextTable::Align;
  TextTable table({{"outcome"},
                   {"where"},
                   {"refused", right},
                   {"largest", right},
                   {"allocations"},
                   {"exit code", right},
                   {"message"}});
  Size failures = 0;
  Size leaking = 0;  // programs that ended with an error
  Size not_refused = 0;
  for (const Refusal& one : report.refusals) {
    if (one.outcome == RefusalOutcome::handled && one.leaked_bytes.value_or(0) > 0) ++leaking;
    if (one.outcome == RefusalOutcome::not_refused) ++not_refused;
  }
  for (const SiteRow& row : site_rows(report)) {
    const Refusal& first = *row.refusals.front();
    const Refusal& largest = **std::ranges::max_element(row.refusals, {}, &Refusal::bytes);
    table.add({std::string(to_string(row.outcome)), row.where, std::to_string(row.refusals.size()),
               format_size(largest.bytes), indices_cell(row),
               first.exit_code ? std::to_string(*first.exit_code) : "–", short_message(first)});
    if (is_failure(row.outcome)) failures += static_cast<Size>(row.refusals.size());
  }
  std::string text =
      fmt::format("{} on {}: {}, {} refused\n", report.program, report.device,
                  quantity(report.allocations, "allocation"), report.refusals.size() - not_refused);
  text += table.text();
  text +=
      fmt::format("\n{}: {}\n", quantity(report.refusals.size(), "refusal"),
                  failures == 0 ? "none crashed, hung or changed the result" : quantity(failures, "failure"));
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
  Json refusals = Json::array();
  for (const Refusal& one : report.refusals) {
    refusals.push_back({{"allocation", one.index},
                        {"bytes", one.bytes},
                        {"name", one.name.empty() ? Json() : Json(one.name)},
                        {"where", one.where.empty() ? Json() : Json(one.where)},
                        {"outcome", to_string(one.outcome)},
                        {"exit_code", or_null(one.exit_code)},
                        {"leaked_bytes", or_null(one.leaked_bytes)},
                        {"message", one.message.empty() ? Json() : Json(one.message)}});
  }
  return json_fields::pretty({{"program", report.program},
                              {"device", report.device},
                              {"allocations", report.allocations},
                              {"result_compared", report.is_result_compared},
                              {"refusals", refusals},
                              {"notes", report.notes}});
}

OomReport parse_oom_json(const std::string& text) {
  const Json json = Json::parse(text);
  const auto text_of = [](const Json& value) { return value.is_null() ? "" : value.get<std::string>(); };
  OomReport report;
  for (const Json& one : json.at("refusals")) {
    Refusal& refusal = report.refusals.emplace_back();
    refusal.index = one.at("allocation");
    refusal.bytes = one.at("bytes");
    refusal.name = text_of(one.at("name"));
    refusal.where = text_of(one.at("where"));
    refusal.outcome = parse_refusal_outcome(one.at("outcome").get<std::string>());
    if (const Json& code = one.at("exit_code"); !code.is_null()) refusal.exit_code = code.get<int>();
    if (const Json& bytes = one.at("leaked_bytes"); !bytes.is_null())
      refusal.leaked_bytes = bytes.get<Size>();
    refusal.message = text_of(one.at("message"));
  }
  report.notes = json.at("notes").get<std::vector<std::string>>();
  return report;
}

std::string oom_junit(const OomReport& report) {
  pugi::xml_document document;
  pugi::xml_node suites = document.append_child("testsuites");
  pugi::xml_node suite = suites.append_child("testsuite");
  int failures = 0;
  int skipped = 0;
  for (const Refusal& one : report.refusals) {
    pugi::xml_node test = suite.append_child("testcase");
    test.append_attribute("name") = plain_text(fmt::format("{} ({})", one.index, place(one))).c_str();
    test.append_attribute("classname") = "oom";
    if (one.outcome == RefusalOutcome::not_refused) {
      ++skipped;
      test.append_child("skipped").append_attribute("message") = plain_text(one.message).c_str();
    }
    if (!is_failure(one.outcome)) continue;
    ++failures;
    pugi::xml_node failure = test.append_child("failure");
    failure.append_attribute("type") = std::string(to_string(one.outcome)).c_str();
    failure.append_attribute("message") = plain_text(one.message).c_str();
  }
  suite.append_attribute("name") = plain_text(report.program).c_str();
  for (pugi::xml_node node : {suites, suite}) {
    node.append_attribute("tests") = static_cast<unsigned long long>(report.refusals.size());
    node.append_attribute("failures") = failures;
    node.append_attribute("skipped") = skipped;
  }
  std::ostringstream text;
  document.save(text, "  ");
  return text.str();
}

}  // namespace peakmark
