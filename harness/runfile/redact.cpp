#include "runfile/redact.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <functional>
#include <span>
#include <sstream>
#include <string_view>

#include "base/error.hpp"
#include "base/pattern.hpp"
#include "profile/profile.hpp"
#include "runfile/json_fields.hpp"

namespace peakmark {

namespace {

using json_fields::Json;

constexpr std::size_t kMinNameBytes = 3;

/// Returns true for keys whose values name cases, runs and devices: parts of a suite, which is published as
/// it is.
bool is_name(const std::string& key) {
  constexpr auto kNames = std::to_array<std::string_view>({"aggregate_name", "axes",      "backend",
                                                           "base_case",      "case",      "commit",
                                                           "date",           "device",    "device_class",
                                                           "dtype",          "estimator", "fingerprint",
                                                           "form",           "id",        "judged_estimators",
                                                           "kind",           "metric",    "name",
                                                           "planned",        "platform",  "run",
                                                           "run_name",       "suite",     "suite_files",
                                                           "variant"});
  return std::ranges::binary_search(kNames, key);
}

bool is_host_mark(const std::string& text) {
  static const Pattern mark("(host-[0-9a-f]{8}(\\+(?!$)|$))*");
  return mark.matches(text);
}

/// `{"what": "CUDA_HOME", "before": …, "after": …}` of trends.
bool is_private_change(const Json& json) {
  if (!json.is_object() || !json.contains("what") || !json.at("what").is_string()) return false;
  for (const char* const side : {"before", "after"}) {
    if (!json.contains(side)) return false;
    const Json& value = json.at(side);
    if (value.is_string() && !is_public_fact(json.at("what").get<std::string>(), value.get<std::string>()))
      return true;
  }
  return false;
}

void redact(Json& json, const PrivateTexts& texts);

void redact_environment(Json& environment) {
  std::vector<std::string> removed;
  for (const auto& [name, value] : environment.items()) {
    if (!value.is_string() || !is_public_fact(name, value.get<std::string>())) removed.push_back(name);
  }
  for (const std::string& name : removed) environment.erase(name);
}

/// A command line, of words or as one text, becomes the name of its program.
void redact_program(Json& program) {
  const auto name = [](const std::string& word) { return std::filesystem::path(word).filename().string(); };
  if (program.is_string()) {
    const std::string line = program.get<std::string>();
    program = name(line.substr(0, line.find(' ')));
  } else if (program.is_array() && !program.empty() && program[0].is_string()) {
    program = Json::array({name(program[0].get<std::string>())});
  }
}

void redact_field(const std::string& key, Json& value, const PrivateTexts& texts) {
  if (key == "host_name" && value.is_string()) {
    if (!is_host_mark(value.get<std::string>())) value = "";
  } else if (key == "environment" && value.is_object()) {
    redact_environment(value);
  } else if (key == "program") {
    redact_program(value);
  } else if (!is_name(key)) {
    redact(value, texts);
  }
}

void redact(Json& json, const PrivateTexts& texts) {
  if (json.is_string()) {
    json = public_text(json.get<std::string>(), texts);
  } else if (json.is_object()) {
    for (auto& [key, value] : json.items()) redact_field(key, value, texts);
    if (json.value("what", Json()) == "host") {
      for (const char* const side : {"before", "after"}) {
        if (json.contains(side) && json[side].is_string() && !is_host_mark(json[side].get<std::string>()))
          json[side] = nullptr;
      }
    }
  } else if (json.is_array()) {
    json.erase(std::remove_if(json.begin(), json.end(), is_private_change), json.end());
    for (Json& item : json) redact(item, texts);
  }
}

/// Calls `take` with each line that is not empty.
void each_line(const std::string& text, const std::function<void(const std::string&)>& take) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) take(line);
  }
}

/// Returns the documents of a file: one, or one per line.
std::vector<Json> documents(const std::string& text) {
  Json whole = Json::parse(text, nullptr, false);
  if (!whole.is_discarded()) return {std::move(whole)};
  std::vector<Json> lines;
  each_line(text, [&](const std::string& line) {
    Json one = Json::parse(line, nullptr, false);
    if (one.is_discarded()) throw UsageError("it is neither JSON nor lines of JSON");
    lines.push_back(std::move(one));
  });
  if (lines.empty()) throw UsageError("it is empty");
  return lines;
}

bool holds(const std::vector<std::pair<std::string, std::string>>& texts, const std::string& text) {
  return std::ranges::any_of(texts, [&](const auto& known) { return known.first == text; });
}

void add_word(PrivateTexts& texts, const std::string& word, const char* by) {
  if (holds(texts.words, word) || word.size() < kMinNameBytes || word == "root" || word == "localhost")
    return;
  texts.words.emplace_back(word, by);
}

void add_secret(PrivateTexts& texts, const std::string& name, const std::string& value) {
  if (holds(texts.secrets, value) || value.size() < kMinSecretBytes || is_public_fact(name, value)) return;
  texts.secrets.emplace_back(value, "$" + name);
  // A secret may begin with another.
  std::ranges::stable_sort(texts.secrets, std::greater{}, [](const auto& one) { return one.first.size(); });
}

void collect(const Json& json, PrivateTexts& texts) {
  if (json.is_array()) {
    for (const Json& item : json) collect(item, texts);
  }
  if (!json.is_object()) return;
  for (const auto& [key, value] : json.items()) {
    if (key == "host_name" && value.is_string() && !is_host_mark(value.get<std::string>())) {
      std::istringstream hosts(value.get<std::string>());
      for (std::string host; std::getline(hosts, host, '+');) add_word(texts, host, "HOST");
    } else if (key == "environment" && value.is_object()) {
      for (const auto& [name, text] : value.items()) {
        if (text.is_string()) add_secret(texts, name, text.get<std::string>());
      }
    } else {
      collect(value, texts);
    }
  }
}

void collect_owners(const std::string& text, PrivateTexts& texts) {
  static const Pattern home("/(?:home|Users)/([A-Za-z0-9_.-]+)/");
  for (const std::string& name : home.first_groups(text)) add_word(texts, name, "USER");
}

void publish(std::string& text, const PrivateTexts& texts) {
  if (!text.empty()) text = public_text(text, texts);
}

void publish(EstimateObservation& estimate, const PrivateTexts& texts) {
  if (estimate.error) publish(*estimate.error, texts);
}

}  // namespace

PrivateTexts with_texts_of_json(PrivateTexts texts, const std::string& json) {
  for (const Json& document : documents(json)) collect(document, texts);
  collect_owners(json, texts);
  return texts;
}

std::string redacted_json(const std::string& text, const PrivateTexts& texts) {
  std::vector<Json> all = documents(text);
  bool is_changed = false;
  for (Json& document : all) {
    const Json before = document;
    redact(document, texts);
    is_changed = is_changed || document != before;
  }
  if (!is_changed) return text;
  const std::size_t line_end = text.find('\n');
  const bool has_lines = all.size() == 1 && line_end != std::string::npos && line_end + 1 < text.size();
  std::string redacted;
  for (const Json& document : all) {
    redacted += document.dump(has_lines ? 1 : -1, ' ', false, Json::error_handler_t::replace);
    if (line_end != std::string::npos) redacted += '\n';
  }
  return redacted;
}

std::string redacted_profile(std::string bytes, const PrivateTexts& given) {
  ProfileHeader header{};
  if (bytes.size() < sizeof header ||
      std::memcmp(bytes.data(), ProfileHeader::kMagic, sizeof header.magic) != 0) {
    throw UsageError("it is not a profile of peakmark");
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.version != ProfileHeader::kVersion || header.header_bytes != sizeof header) {
    throw UsageError("it is a profile of another version; use the peakmark that recorded it");
  }
  PrivateTexts texts = given;
  collect_owners(bytes, texts);

  const std::string program(header.command_line, ::strnlen(header.command_line, sizeof header.command_line));
  const std::string name = std::filesystem::path(program).filename().string();
  std::memset(header.command_line, 0, sizeof header.command_line);
  std::memcpy(header.command_line, name.data(), std::min(name.size(), sizeof header.command_line - 1));
  std::memcpy(bytes.data(), &header, sizeof header);

  const std::size_t slots = (bytes.size() - sizeof header) / sizeof(Event);
  std::vector<Event> events(slots);
  std::memcpy(events.data(), bytes.data() + sizeof header, slots * sizeof(Event));
  for (std::size_t at = 0; at < slots; ++at) {
    Event& event = events[at];
    if (event.commit != at + 1) continue;
    if (!has_text(event.type)) continue;
    const std::string before = text_of(events, at);
    std::string after = public_text(before, texts);
    if (after == before) continue;
    // A replacement that is longer than the secret is cut: a text has a fixed number of slots.
    after.resize(std::min(after.size(), before.size()));
    event.text_bytes = static_cast<std::uint16_t>(after.size());
    for (std::size_t slot = 0, done = 0; done < before.size(); ++slot, done += sizeof event.text) {
      const std::span text(events[at + slot].text);
      std::ranges::fill(text, '\0');
      std::ranges::copy(std::string_view(after).substr(std::min(done, after.size()), text.size()),
                        text.begin());
    }
  }
  std::memcpy(bytes.data() + sizeof header, events.data(), slots * sizeof(Event));
  return bytes;
}

void publish_texts(Observation& observation, const PrivateTexts& texts) {
  publish(observation.message, texts);
  if (observation.program_failure) {
    for (std::string& line : observation.program_failure->last_lines) publish(line, texts);
  }
  for (CallLeak& leak : observation.call_leaks) {
    publish(leak.phase, texts);
    publish(leak.where, texts);
  }
  for (std::string& moved : observation.moved_allocations) publish(moved, texts);
  if (observation.allocation_sequence) {
    for (SequencedAllocation& one : *observation.allocation_sequence) {
      publish(one.phase, texts);
      publish(one.where, texts);
      publish(one.process, texts);
    }
  }
  if (observation.estimate) publish(*observation.estimate, texts);
  for (EstimateObservation& estimate : observation.other_estimates) publish(estimate, texts);
}

void publish_texts(RunContext& context, const PrivateTexts& texts) {
  for (std::string& warning : context.warnings) publish(warning, texts);
  std::erase_if(context.environment,
                [](const auto& fact) { return !is_public_fact(fact.first, fact.second); });
}

}  // namespace peakmark
