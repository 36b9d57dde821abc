#include "check/baseline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text_file.hpp"
#include "runfile/json_fields.hpp"

namespace peakmark {
namespace {

using json_fields::Json;

constexpr const char* kVersionKey = "peakmark_baseline";

bool stands_before(const PeakEntry& a, const PeakEntry& b) {
  return std::tie(a.name, a.kind, a.bytes) < std::tie(b.name, b.kind, b.bytes);
}

/// Sorted entries as `[["input", "buffer", 4096], ["block", "buffer", 256, 3]]`: a fourth is how many of
/// them.
Json to_json(const std::vector<PeakEntry>& entries) {
  Json list = Json::array();
  for (auto first = entries.begin(); first != entries.end();) {
    const auto end =
        std::find_if(first, entries.end(), [&](const PeakEntry& one) { return stands_before(*first, one); });
    Json group = {first->name, first->kind, first->bytes};
    if (end - first > 1) group.push_back(end - first);
    list.push_back(std::move(group));
    first = end;
  }
  return list;
}

void read(const Json& json, std::vector<PeakEntry>& entries) {
  constexpr Size kMaxOfOneKind = 1'000'000;
  if (!json.is_array()) json_fields::wrong_type(json, "a list");
  for (const Json& group : json) {
    if (!group.is_array() || group.size() < 3 || group.size() > 4) {
      json_fields::wrong_type(group, "[name, kind, bytes] or [name, kind, bytes, how many]");
    }
    PeakEntry entry;
    json_fields::read(group.at(0), entry.name);
    json_fields::read(group.at(1), entry.kind);
    json_fields::read(group.at(2), entry.bytes);
    Size count = 1;
    if (group.size() == 4) json_fields::read(group.at(3), count);
    if (count < 1 || count > kMaxOfOneKind) json_fields::wrong_type(group.at(3), "1 to 1000000");
    entries.insert(entries.end(), static_cast<std::size_t>(count), entry);
  }
  std::ranges::sort(entries, stands_before);
}

std::string line_of(const std::string& name, const BaselineCase& sweep_case) {
  return json_fields::one_line(
      Json{{"case", name},
           {"outcome", to_string(sweep_case.outcome)},
           {"requested_peak_bytes", json_fields::or_null(sweep_case.requested_peak_bytes)},
           {"setup_bytes", json_fields::or_null(sweep_case.setup_bytes)},
           {"at_peak", to_json(sweep_case.at_peak)}});
}

void check_version(const Json& json) {
  int version = 0;
  json_fields::field(json, kVersionKey, version);
  if (version == format::kBaseline.major) return;
  throw UsageError(fmt::format(
      "a baseline of version {}, this peakmark reads version {}; write it anew with --update-baseline",
      version, format::kBaseline.major));
}

void read_line(const Json& json, Baseline& baseline) {
  std::string name;
  BaselineCase sweep_case;
  json_fields::field(json, "case", name);
  std::string outcome;
  json_fields::field(json, "outcome", outcome);
  sweep_case.outcome = parse_outcome(outcome);
  json_fields::field(json, "requested_peak_bytes", sweep_case.requested_peak_bytes);
  json_fields::field(json, "setup_bytes", sweep_case.setup_bytes);
  read(json.at("at_peak"), sweep_case.at_peak);
  if (!baseline.cases.emplace(name, std::move(sweep_case)).second) {
    throw UsageError(fmt::format("{} stands there twice", name));
  }
}

bool is_baseline(const std::string& text) {
  const Json first = Json::parse(text.substr(0, text.find('\n')), nullptr, false);
  return first.is_object() && first.contains(kVersionKey);
}

Baseline parse_or_nothing(const std::string& text) {
  try {
    return parse_baseline(text);
  } catch (const UsageError&) {
    return {};  // of another version, or damaged: what is written now is whole
  }
}

BaselineChanges changes_between(const Baseline& before, const Baseline& after) {
  BaselineChanges changes;
  for (const auto& [name, sweep_case] : after.cases) {
    const auto earlier = before.cases.find(name);
    if (earlier == before.cases.end()) {
      ++changes.added;
    } else if (earlier->second != sweep_case) {
      ++changes.changed;
    }
  }
  changes.gone = before.cases.size() + changes.added - after.cases.size();
  return changes;
}

}  // namespace

Baseline baseline_of(const Run& run) {
  if (!run.context.complete) {
    throw UsageError(
        "the run was cut short, and a baseline needs all of its cases: finish it with `peakmark run "
        "--resume`");
  }
  Baseline baseline;
  for (const Observation& observation : run.observations) {
    BaselineCase sweep_case{observation.outcome, observation.requested_peak_bytes, observation.setup_bytes,
                            observation.at_peak};
    std::ranges::sort(sweep_case.at_peak, stands_before);
    baseline.cases.emplace(observation.case_name, std::move(sweep_case));
  }
  return baseline;
}

std::string baseline_text(const Baseline& baseline) {
  std::string text = json_fields::one_line(Json{{kVersionKey, format::kBaseline.major}}) + "\n";
  for (const auto& [name, sweep_case] : baseline.cases) text += line_of(name, sweep_case) + "\n";
  return text;
}

Baseline parse_baseline(std::string_view text) {
  Baseline baseline;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    try {
      if (number == 1) {
        check_version(Json::parse(line));
      } else if (line.find_first_not_of(" \t\r") != std::string::npos) {
        read_line(Json::parse(line), baseline);
      }
    } catch (const Json::exception& error) {
      throw UsageError(fmt::format("line {}: {}", number, json_fields::message_of(error)));
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("line {}: {}", number, error.what()));
    }
  }
  return baseline;
}

Baseline read_baseline(const std::filesystem::path& path) {
  const std::string text = read_text_file(path);
  try {
    if (is_baseline(text)) return parse_baseline(text);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", path.string(), error.what()));
  }
  const Run run = read_run(path);  // which names the file
  try {
    return baseline_of(run);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

BaselineChanges write_baseline(const Baseline& baseline, const std::filesystem::path& path) {
  check_replaceable(path);
  Baseline earlier;
  std::error_code none;
  if (std::filesystem::exists(path, none) && std::filesystem::file_size(path, none) > 0) {
    const std::string text = read_text_file(path);
    if (!is_baseline(text)) {
      throw UsageError(fmt::format("{}: is no baseline, and is not replaced; name another file, or remove it",
                                   path.string()));
    }
    earlier = parse_or_nothing(text);
  }
  replace_text_file(path, baseline_text(baseline));
  return changes_between(earlier, baseline);
}

}  // namespace peakmark
