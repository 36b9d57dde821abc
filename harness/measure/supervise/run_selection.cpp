#include "measure/supervise/run_selection.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/pattern.hpp"
#include "base/text.hpp"
#include "measure/runfile/run_file.hpp"
#include "measure/sweep/nearest_word.hpp"

namespace peakmark {
namespace {

void check_requirement(const std::string& require, const DeviceInfo& device, const DeviceList& devices) {
  const bool met =
      require == "cuda" ? device.backend == Backend::cuda : device.backend != Backend::dry && !device.is_cpu;
  if (met) return;
  std::string message =
      "--require " + require + ": " +
      (require == "cuda" ? "no CUDA device would be measured" : "no GPU would be measured") + ", only " +
      std::string(to_string(device.backend)) + " " + device.name;
  for (const std::string& reason : devices.reasons) message += "\n  (" + reason + ")";
  throw DeviceError(message);
}

struct Choice {
  std::optional<DeviceInfo> device;
  std::string why_none;
};

Choice choose(const SelectionOptions& options, const DeviceList& devices) {
  DeviceChoice wanted;
  wanted.device = options.device;
  if (options.backend) wanted.backend = parse_backend(*options.backend);
  try {
    return {choose_device(wanted, devices), {}};
  } catch (const DeviceError& error) {
    return {std::nullopt, error.what()};
  }
}

std::vector<PlannedCase> of_variants(std::vector<PlannedCase> cases,
                                     const std::pair<std::string, std::string>& variants) {
  std::vector<std::string> known;
  for (const PlannedCase& planned : cases) {
    if (std::ranges::find(known, planned.sweep_case.variant) == known.end()) {
      known.push_back(planned.sweep_case.variant);
    }
  }
  if (variants.first == variants.second) throw UsageError("--variants: name two, an old and a new one");
  for (const std::string& variant : {variants.first, variants.second}) {
    if (std::ranges::find(known, variant) != known.end()) continue;
    throw UsageError("--variants: the suite has no case of '" + variant + "'" + suggest_word(variant, known));
  }
  std::erase_if(cases, [&](const PlannedCase& planned) {
    return planned.sweep_case.variant != variants.first && planned.sweep_case.variant != variants.second;
  });
  return cases;
}

bool all_dry(const std::vector<PlannedCase>& cases) {
  return std::all_of(cases.begin(), cases.end(),
                     [](const PlannedCase& planned) { return planned.sweep_case.backend == "dry"; });
}

Listing list_on(const std::optional<DeviceInfo>& device, const SelectionOptions& options,
                const Description& description, const CaseCheck& check) {
  ExpandOptions expand;
  expand.backend = options.backend;
  expand.variants = options.named_variants;
  expand.axes = options.axes;
  if (device) expand.automatic_backend = to_string(device->backend);
  Listing listing;
  listing.suite = load_suites(options.suites, description, expand);
  if (check) check(listing.suite.cases);
  listing.cases = std::exchange(listing.suite.cases, {});
  if (options.filter) listing.cases = filtered(std::move(listing.cases), *options.filter);
  if (options.variants) listing.cases = of_variants(std::move(listing.cases), *options.variants);
  listing.all_dry = all_dry(listing.cases);
  if (options.shard) {
    listing.shard = parse_shard(*options.shard);
    listing.cases = options.balance ? select_balanced_shard(std::move(listing.cases), *listing.shard,
                                                            recorded_seconds(*options.balance))
                                    : select_shard(std::move(listing.cases), *listing.shard);
  }
  return listing;
}

Pattern compile_filter(const std::string& expression) {
  try {
    return Pattern(expression);
  } catch (const UsageError& error) {
    throw UsageError("--filter '" + expression + "' is not a regular expression: " + error.what());
  }
}

}  // namespace

std::vector<std::string> case_words(const SelectionOptions& options) {
  std::vector<std::string> words;
  for (const std::filesystem::path& suite : options.suites) words.push_back(suite.string());
  words.insert(words.end(), options.named_variants.begin(), options.named_variants.end());
  words.insert(words.end(), options.axes.begin(), options.axes.end());
  return words;
}

std::vector<PlannedCase> filtered(std::vector<PlannedCase> cases, const std::string& expression) {
  const Pattern pattern = compile_filter(expression);
  const std::size_t all = cases.size();
  const std::string first = cases.empty() ? "none" : full_case_name(cases.front().sweep_case);
  std::erase_if(cases, [&](const PlannedCase& planned) {
    return !pattern.is_in(planned.name) && !pattern.is_in(full_case_name(planned.sweep_case));
  });
  if (cases.empty()) {
    throw UsageError("--filter '" + expression + "' leaves none of the " + quantity(all, "case") +
                     "; the first is " + first +
                     "\n`peakmark list SUITE --full-names` prints what an expression can find");
  }
  return cases;
}

Listing list_cases(const SelectionOptions& options, const Description& description, const DeviceList& devices,
                   const CaseCheck& check) {
  return list_on(choose(options, devices).device, options, description, check);
}

Selection select(const SelectionOptions& options, const Description& description, const DeviceList& devices,
                 const CaseCheck& check) {
  Selection selection;
  selection.filter = options.filter;
  selection.asked_backend = options.backend;
  selection.device_class = options.device_class;
  Choice choice = choose(options, devices);
  Listing listing = list_on(choice.device, options, description, check);
  selection.suite = std::move(listing.suite);
  selection.planned = std::move(listing.cases);
  selection.shard = std::move(listing.shard);
  // A sweep of `dry` cases needs no device, and must not name one. All shards of a run use the same device,
  // regardless of their cases, because otherwise they could not be merged.
  if (options.device.empty() && listing.all_dry) {
    choice.device = choose_device({Backend::dry, ""}, devices);
  } else if (!choice.device) {
    throw DeviceError(choice.why_none);
  }
  selection.device = *choice.device;
  if (options.require) check_requirement(*options.require, selection.device, devices);
  return selection;
}

CaseSeconds recorded_seconds(const std::filesystem::path& run_file) {
  CaseSeconds recorded;
  for (const Observation& observation : read_run(run_file).observations) {
    if (observation.seconds) recorded.emplace(observation.case_name, *observation.seconds);
  }
  if (!recorded.empty()) return recorded;
  throw UsageError(run_file.string() +
                   ": has no seconds of its cases; leave --balance out, or name a run of peakmark");
}

std::string exactly(const std::string& text) {
  std::string pattern = "^";
  for (const char letter : text) {
    if (std::string_view(R"(^$\.*+?()[]{}|)").find(letter) != std::string_view::npos) pattern += '\\';
    pattern += letter;
  }
  return pattern + "$";
}

bool is_of_another_backend(const PlannedCase& planned, const DeviceInfo& device) {
  return planned.sweep_case.backend != "dry" && planned.sweep_case.backend != to_string(device.backend);
}

}  // namespace peakmark
