// Replays the recorded profiles in suites/recorded; needs no device. ci/record-profiles made each folder
// there: one recording of every case of expected.toml.
#include <gmock/gmock.h>
#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "kernels/operations.hpp"
#include "measure/sweep/description.hpp"
#include "measure/sweep/formula.hpp"
#include "measure/worker/pass_record.hpp"
#include "measure/worker/variant.hpp"
#include "record/profile/profile.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::MatchesRegex;
using testing::SizeIs;
using testing::StartsWith;

using Allocations = std::vector<std::pair<std::string, Size>>;

/// The allocations that must be live in each phase.
struct ExpectedCase {
  std::string name;  ///< with the placeholder BACKEND
  std::string file;
  std::map<std::string, std::map<std::string, std::string>> phases;  ///< phase → allocation → formula
};

std::vector<ExpectedCase> read_expected() {
  std::vector<ExpectedCase> cases;
  const toml::table table = toml::parse_file((fs::path(PEAKMARK_RECORDED) / "expected.toml").string());
  for (const toml::node& node : *table["case"].as_array()) {
    const toml::table& one = *node.as_table();
    ExpectedCase expected{one["name"].value_or(""), one["file"].value_or(""), {}};
    for (const char* phase : {"set_up", "inputs", "outputs", "call"}) {
      auto& allocations = expected.phases[phase];
      const toml::table* const listed = one[phase].as_table();
      if (listed == nullptr) continue;
      for (const auto& [name, formula] : *listed) allocations[std::string(name.str())] = formula.value_or("");
    }
    cases.push_back(std::move(expected));
  }
  return cases;
}

std::vector<fs::path> recordings() {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(PEAKMARK_RECORDED)) {
    if (entry.is_directory()) folders.push_back(entry.path());
  }
  std::ranges::sort(folders);
  return folders;
}

const Description& description() {
  static const Description described = [] {
    Registry registry;
    add_operations(registry);
    return registry.describe();
  }();
  return described;
}

/// Evaluates the formulas of a phase for the axes of a case.
Allocations evaluate(const ExpectedCase& expected, const std::string& phase, const Parameters& axes) {
  Allocations allocations;
  for (const auto& [name, formula] : expected.phases.at(phase)) {
    allocations.emplace_back(
        name, Formula(formula).evaluate_integer([&](const std::string& axis) { return axes.integer(axis); }));
  }
  return allocations;
}

Size sum_of(const Allocations& allocations) {
  Size sum = 0;
  for (const auto& [name, bytes] : allocations) sum += bytes;
  return sum;
}

/// Returns the memory passes of a profile: from each phase `setup` to the next phase `end`.
std::vector<std::span<const Event>> passes_of(const std::vector<Event>& events) {
  std::vector<std::span<const Event>> passes;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i].type != EventType::phase) continue;
    const std::string name = text_of(events, i);
    if (name == phase::set_up) begin = i;
    if (name == phase::end) passes.push_back(std::span(events).subspan(begin, i + 1 - begin));
  }
  return passes;
}

class Recording : public testing::TestWithParam<fs::path> {};

TEST_P(Recording, ReportsWhenAndOnWhatItWasMade) {
  const toml::table facts = toml::parse_file((GetParam() / "recording.toml").string());
  const auto text = [&](const char* key) { return facts[key].value_or(std::string()); };
  EXPECT_THAT(text("date"), MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}"));
  EXPECT_THAT(text("backend"), AnyOf("opencl", "cuda"));
  EXPECT_THAT(text("commit"), MatchesRegex("[0-9a-f]{40}"));
  for (const char* key : {"device", "platform", "driver", "loader"}) EXPECT_FALSE(text(key).empty()) << key;
  // `driver` is the CUDA version that the driver supports; `nvidia_driver` (NVML) is the version of the
  // driver.
  EXPECT_EQ(text("backend") == "cuda", !text("nvidia_driver").empty());
}

TEST_P(Recording, HoldsWhatTheFormulasSay) {
  const toml::table facts = toml::parse_file((GetParam() / "recording.toml").string());
  const std::string backend = facts["backend"].value_or("");
  for (const ExpectedCase& expected : read_expected()) {
    SCOPED_TRACE(expected.name);
    std::string name = expected.name;
    name.replace(name.find("BACKEND"), 7, backend);
    const Parameters axes = parse_case(name, description()).parameters;
    const Allocations set_up = evaluate(expected, "set_up", axes);
    const Allocations inputs = evaluate(expected, "inputs", axes);
    const Allocations outputs = evaluate(expected, "outputs", axes);
    Allocations at_peak = evaluate(expected, "call", axes);
    for (const Allocations& phase : {set_up, inputs, outputs}) {
      at_peak.insert(at_peak.end(), phase.begin(), phase.end());
    }
    std::ranges::sort(at_peak);

    ProfileReader profile(GetParam() / expected.file);
    EXPECT_TRUE(profile.complete());
    EXPECT_THAT(profile.header().recorder, StartsWith(backend == "cuda" ? "cupti " : "opencl-layer "));
    EXPECT_EQ(profile.command_line().front(), "peakmark-bench") << "recorded without a path of that machine";
    const std::vector<Event> events = profile.events();
    EXPECT_EQ(invalid_note(events), "");
    EXPECT_EQ(live_after(events), 0);
    EXPECT_EQ(summarise(events).failed_allocations, 0);
    const auto passes = passes_of(events);
    EXPECT_THAT(passes, SizeIs(2)) << "the memory pass is made twice";
    for (const std::span<const Event> pass : passes) {
      const MemoryPass record = record_of_pass(pass);
      EXPECT_EQ(record.peak_bytes, sum_of(at_peak));
      EXPECT_EQ(record.first_call_peak_bytes, sum_of(at_peak));
      EXPECT_EQ(record.setup_bytes, sum_of(set_up));
      EXPECT_EQ(record.input_bytes, sum_of(inputs));
      EXPECT_EQ(record.output_bytes, sum_of(outputs));
      Allocations recorded;
      for (const Allocation& one : record.at_peak) recorded.emplace_back(one.name, one.bytes);
      std::ranges::sort(recorded);
      EXPECT_EQ(recorded, at_peak);
    }
  }
}

TEST_P(Recording, HasNoProfileThatNothingIsExpectedOf) {
  std::vector<std::string> known{"recording.toml"};
  for (const ExpectedCase& expected : read_expected()) known.push_back(expected.file);
  for (const auto& entry : fs::directory_iterator(GetParam())) {
    EXPECT_NE(std::ranges::find(known, entry.path().filename().string()), known.end()) << entry.path();
  }
}

INSTANTIATE_TEST_SUITE_P(Suites, Recording, testing::ValuesIn(recordings()), [](const auto& info) {
  std::string name = info.param.filename().string();
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

TEST(Recordings, OneOfPoclIsHere) {
  EXPECT_TRUE(fs::is_regular_file(fs::path(PEAKMARK_RECORDED) / "pocl" / "recording.toml"));
}

}  // namespace
}  // namespace peakmark
