#include "measure/runfile/run_journal.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <istream>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.hpp"
#include "base/private_text.hpp"
#include "base/program.hpp"
#include "base/text.hpp"
#include "measure/runfile/context_json.hpp"
#include "measure/runfile/json_fields.hpp"
#include "measure/runfile/merge.hpp"
#include "measure/runfile/observation_json.hpp"
#include "measure/runfile/run_file.hpp"

namespace peakmark {
namespace {

void publish(std::string& text, const PrivateTexts& texts) {
  if (!text.empty()) text = public_text(text, texts);
}

void publish(EstimateObservation& estimate, const PrivateTexts& texts) {
  if (estimate.error) publish(*estimate.error, texts);
}

// Replaces secrets, names and absolute paths in the messages that programs and estimators wrote.
// Does the same for the warnings of a run. Removes facts of its environment that must not be published.
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

}  // namespace

using json_fields::Json;
using json_fields::LongList;

namespace {

std::vector<std::string> names_of(const std::vector<PlannedCase>& planned) {
  std::vector<std::string> names;
  names.reserve(planned.size());
  for (const PlannedCase& one : planned) names.push_back(one.name);
  return names;
}

std::filesystem::path checked(std::filesystem::path run_file) {
  check_run_file_replaceable(run_file);
  return run_file;
}

constexpr std::string_view kContextStart = R"({"context":)";

/// Calls `take` with each line of a file until it returns false.
void each_line_of(const std::filesystem::path& path, const std::function<bool(const std::string&)>& take) {
  FileBuffer file(path);
  std::istream lines(&file);
  lines.exceptions(std::ios::badbit);  // so that an error of the file is not taken for its end
  for (std::string line; std::getline(lines, line);) {
    if (!take(line)) return;
  }
}

/// Returns true if a partial run has more than its context, which every run writes again.
bool has_observation(const std::filesystem::path& partial) {
  bool has = false;
  each_line_of(partial, [&](const std::string& line) {
    has = !line.starts_with(kContextStart);
    return !has;
  });
  return has;
}

/// Returns `run.json.partial.1`, or the next free number.
std::filesystem::path free_name_beside(const std::filesystem::path& path) {
  for (int number = 1;; ++number) {
    std::filesystem::path name = path.string() + "." + std::to_string(number);
    if (!std::filesystem::exists(std::filesystem::symlink_status(name))) return name;
  }
}

/// Returns the context as it will be read back, because a device's name may have bytes that are not UTF-8.
RunContext as_written(const RunContext& context) {
  Json json = to_json(context);
  json["planned"] = Json::array();
  RunContext read = run_context_from_json(Json::parse(json_fields::one_line(json)));
  read.planned = context.planned;  // only their names are compared
  return read;
}

}  // namespace

void check_same_run(const RunContext& recorded, const RunContext& context,
                    const std::filesystem::path& file) {
  if (const auto difference = first_difference(recorded, context)) {
    throw UsageError(file.string() + " was measured with another " + difference->what + " ('" +
                     difference->one + "', now '" + difference->other +
                     "'); resume with that one, or measure again without --resume");
  }
  if (names_of(recorded.planned) != names_of(context.planned)) {
    throw UsageError(file.string() + " was measured with another --filter, --shard or --backend (" +
                     quantity(recorded.planned.size(), "case") + ", now " +
                     std::to_string(context.planned.size()) +
                     "); resume with the same, or measure again without --resume");
  }
}

RunJournal::RunJournal(std::filesystem::path run_file)
    : run_file_(checked(std::move(run_file))),
      partial_(partial_of(run_file_), run_file_,
               "another peakmark measures into it; wait for it, or choose another file with -o"),
      private_texts_(private_texts(current_environment())) {}

RunJournal::~RunJournal() {
  const bool only_ours = started_ && !earlier_stays_;
  if (partial_.is_open() && (partial_.is_empty() || (only_ours && !measured_))) partial_.remove();
}

void RunJournal::set_earlier_run_aside() {
  is_set_aside_ = set_run_file_aside(run_file_);
}

std::filesystem::path RunJournal::start(RunContext context) {
  started_ = true;
  partial_.cut_half_line();
  earlier_stays_ = has_observation(partial_.path());
  kept_ = earlier_stays_ ? free_name_beside(partial_.path()) : std::filesystem::path();
  publish_texts(context, private_texts_);
  run_ = Run{std::move(context), {}};
  run_.observations.reserve(run_.context.planned.size());
  places_.clear();
  run_.context.complete = false;
  if (!earlier_stays_) write_all();
  return kept_;
}

void RunJournal::write_all() {
  partial_.clear();
  earlier_stays_ = false;
  append_context();
  for (const Observation& observation : run_.observations) partial_.append(to_json_line(observation));
}

bool RunJournal::resume(const RunContext& context) {
  partial_.cut_half_line();
  if (!partial_.is_empty()) {
    read_partial();
    check_same_run(run_.context, as_written(context), partial_.path());
    measured_ = !run_.observations.empty();
    return true;
  }
  take_back_run_set_aside(run_file_);
  if (!std::filesystem::exists(run_file_)) return false;
  run_ = read_run(run_file_);
  for (std::size_t i = 0; i < run_.observations.size(); ++i) {
    places_.emplace(run_.observations[i].case_name, i);
  }
  check_same_run(run_.context, as_written(context), run_file_);
  check_observations();
  measured_ = !run_.observations.empty();
  if (!is_complete()) write_all();
  return true;
}

void RunJournal::read_partial() {
  run_ = Run{};
  places_.clear();
  bool has_context = false;
  std::size_t number = 0;
  std::vector<PlannedCase> planned;
  const std::array<LongList, 1> lists{
      {{{"context", "planned"}, [&](const Json& one) { planned.push_back(planned_case_from_json(one)); }}}};
  each_line_of(partial_.path(), [&](const std::string& line) {
    ++number;
    const auto fail = [&](const std::string& why) {
      throw UsageError(partial_.path().string() + ": line " + std::to_string(number) + ": " + why +
                       "; measure again without --resume");
    };
    try {
      const bool is_long = line.starts_with(kContextStart);
      const Json json = is_long ? json_fields::parse_with_long_lists(line, lists) : Json::parse(line);
      if (json.contains("context")) {
        run_.context = run_context_from_json(json.at("context"));
        if (is_long) run_.context.planned = std::exchange(planned, {});
        has_context = true;
      } else {
        if (run_.observations.empty()) run_.observations.reserve(run_.context.planned.size());
        read_one(observation_from_json(json));
      }
    } catch (const Json::exception& error) {
      fail(json_fields::message_of(error));
    } catch (const UsageError& error) {
      fail(error.what());
    }
    return true;
  });
  if (!has_context)
    throw UsageError(partial_.path().string() + ": not a run of peakmark; remove it to measure again");
  check_observations();
}

void RunJournal::check_observations() const {
  std::unordered_set<std::string> planned;
  for (const PlannedCase& one : run_.context.planned) planned.insert(one.name);
  for (const Observation& observation : run_.observations) {
    if (planned.erase(observation.case_name) == 1) continue;
    throw UsageError("the run to resume has the case " + observation.case_name +
                     " twice, or has not planned it; measure again without --resume");
  }
}

void RunJournal::add(const Observation& measured) {
  Observation observation = published(measured);
  if (earlier_stays_) {
    replace_earlier_by(observation);
  } else {
    partial_.append(to_json_line(observation));
  }
  keep(std::move(observation));
  measured_ = true;
}

Observation RunJournal::published(Observation observation) const {
  publish_texts(observation, private_texts_);
  return observation;
}

/// Reads one observation. A line may replace an earlier, less complete one of its case; otherwise it is a new
/// case or a further round.
void RunJournal::read_one(Observation observation) {
  const auto known = places_.find(observation.case_name);
  if (known != places_.end()) {
    Observation& earlier = run_.observations[known->second];
    const bool rewrites = !run_.context.rounds || !earlier.gpu_time || shares_a_round(earlier, observation);
    if (is_unasked(earlier) && rewrites) {
      earlier = std::move(observation);
      return;
    }
  }
  keep(std::move(observation));
}

void RunJournal::keep(Observation observation) {
  const auto [known, is_new] = places_.emplace(observation.case_name, run_.observations.size());
  if (!is_new && run_.context.rounds) {
    add_round(run_.observations[known->second], observation);
  } else {
    run_.observations.push_back(std::move(observation));
  }
}

void RunJournal::replace_earlier_by(const Observation& observation) {
  std::string earlier = partial_.take_whole_lines();
  replace_text_file(kept_, earlier);
  try {
    write_all();
    partial_.append(to_json_line(observation));
  } catch (const IoError&) {
    // The disk had space for the earlier run, and has less for the new one.
    earlier.pop_back();  // the newline, which append() adds
    partial_.clear();
    partial_.append(earlier);
    earlier_stays_ = true;
    std::filesystem::remove(kept_);
    throw;
  }
}

void RunJournal::note(const Observation& noted) {
  Observation observation = published(noted);
  if (!earlier_stays_) partial_.append(to_json_line(observation));
  keep(std::move(observation));
}

void RunJournal::change(const std::function<void(RunContext&)>& edit) {
  edit(run_.context);
  publish_texts(run_.context, private_texts_);
  if (!earlier_stays_) append_context();
}

void RunJournal::change(const Observation& changed) {
  const Observation observation = published(changed);
  const auto place = places_.find(observation.case_name);
  if (place == places_.end()) throw std::logic_error("a case that was not measured changes");
  partial_.append(to_json_line(observation));
  run_.observations[place->second] = observation;
}

const Observation* RunJournal::find(const std::string& case_name) const {
  const auto place = places_.find(case_name);
  return place == places_.end() ? nullptr : &run_.observations[place->second];
}

std::vector<Observation> RunJournal::unasked() const {
  std::vector<Observation> unasked;
  std::ranges::copy_if(run_.observations, std::back_inserter(unasked),
                       [](const Observation& one) { return is_unasked(one); });
  return unasked;
}

void RunJournal::append_context() {
  Json context = to_json(run_.context);
  context["planned"] = Json::array();
  const std::string line = json_fields::one_line(Json{{"context", std::move(context)}});
  partial_.append([&](const TextSink& sink) { write_with_planned(line, run_.context.planned, -1, 0, sink); });
}

std::vector<const PlannedCase*> RunJournal::missing() const {
  std::vector<const PlannedCase*> missing;
  missing.reserve(run_.context.planned.size() - std::min(places_.size(), run_.context.planned.size()));
  for (const PlannedCase& planned : run_.context.planned) {
    if (!places_.contains(planned.name)) missing.push_back(&planned);
  }
  return missing;
}

bool RunJournal::is_complete() const {
  return missing().empty() && unasked().empty() && (!run_.context.rounds || has_all_rounds(run_));
}

void RunJournal::finish() {
  std::unordered_map<std::string_view, std::size_t> place;
  for (const PlannedCase& planned : run_.context.planned) place.emplace(planned.name, place.size());
  const auto place_of = [&](const Observation& one) { return place.at(one.case_name); };
  // Only if necessary, because sorting needs half as much memory again.
  if (!std::ranges::is_sorted(run_.observations, {}, place_of)) {
    std::ranges::stable_sort(run_.observations, {}, place_of);
  }
  run_.context.complete = is_complete();
  write_run(run_, run_file_);
  if (is_set_aside_) remove_run_set_aside(run_file_);
  if (!earlier_stays_) partial_.remove();
}

}  // namespace peakmark
