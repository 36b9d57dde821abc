// Observations as lines of JSON.
#include <gmock/gmock.h>

#include <cmath>
#include <fstream>

#include "base/error.hpp"
#include "base/files_testing.hpp"
#include "measure/runfile/json_fields.hpp"
#include "measure/runfile/run_file.hpp"
#include "measure/runfile/sample_run.hpp"
#include "measure/runfile/worker_protocol.hpp"

namespace peakmark {
namespace {

using json_fields::Json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::ThrowsMessage;

TEST(ObservationLine, AxesKeepTheirTypes) {
  Observation observation = example_observation("a/b/dry");
  observation.axes =
      Parameters({{"n", Size{1}}, {"sigma", 1.0}, {"tau", 1e-7}, {"large", 1e22}, {"mode", "1.0"}});
  const std::string line = to_json_line(observation);
  EXPECT_EQ(observation_from_json_line(line).axes, observation.axes);
  EXPECT_THAT(line, HasSubstr(R"("axes":{"n":1,"sigma":1.0,"tau":1e-07,"large":1e+22,"mode":"1.0"})"));
}

TEST(ObservationLine, AMetricCannotHaveTheNameOfAField) {
  const Json json = Json::parse(to_json_line(example_observation("a/b/dry")));
  for (const auto& [key, value] : json.items()) {
    Observation observation;
    EXPECT_THROW(add_metric(observation, key, 1, ""), UsageError) << key;
  }
}

TEST(ObservationLine, AMetricIsAFiniteNumberWithItsOwnName) {
  Observation observation;
  add_metric(observation, "rate", 2.5, "higher");
  add_metric(observation, "iterations", 0, "");
  EXPECT_THAT(observation.metrics, ElementsAre(Pair("iterations", 0), Pair("rate", 2.5)));
  EXPECT_THAT(observation.metric_directions, ElementsAre(Pair("rate", "higher")));
  const struct {
    std::string name;
    double value;
    std::string message;
  } wrong[] = {{"rate", 3, "metric 'rate' is reported twice: report each metric of a case once"},
               {"error", std::nan(""), "metric 'error' is nan: report a finite number"},
               {"error", -HUGE_VAL, "metric 'error' is -inf: report a finite number"},
               {"two words", 1, "'two words' is not the name of a metric"}};
  for (const auto& one : wrong) {
    EXPECT_THAT([&] { add_metric(observation, one.name, one.value, ""); },
                ThrowsMessage<UsageError>(HasSubstr(one.message)));
  }
  for (int i = 2; i < 64; ++i) add_metric(observation, "m" + std::to_string(i), i, "");
  EXPECT_THAT([&] { add_metric(observation, "m64", 1, ""); },
              ThrowsMessage<UsageError>(HasSubstr("more than 64 metrics of a case")));
}

TEST(ObservationLine, ADirectionIsHigherOrLower) {
  std::string line = to_json_line(example_observation("a/b/dry"));
  line.replace(line.find("\"lower\""), 7, "\"less\"");
  EXPECT_THAT([&] { observation_from_json_line(line); },
              ThrowsMessage<UsageError>(HasSubstr("must be higher or lower")));
}

TEST(ObservationLine, ComesBackAsItWas) {
  const Observation observation = example_observation("a/b/dry");
  const std::string line = to_json_line(observation);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const Json json = Json::parse(line);
  EXPECT_EQ(to_json_line(observation_from_json_line(line)), line);

  // Each field is compared separately, because a field that is forgotten in both directions would not be
  // noticed above.
  EXPECT_EQ(json.at("case"), "a/b/dry");
  EXPECT_EQ(json.at("axes"), Json({{"n", 20}, {"ny", 512}, {"mode", "edge"}}));
  EXPECT_EQ(json.at("outcome"), "wrong_answer");
  EXPECT_EQ(json.at("requested_peak_bytes"), 1099511627776);
  EXPECT_EQ(json.at("first_call_peak_bytes"), 12);
  EXPECT_EQ(json.at("setup_bytes"), 0);
  EXPECT_EQ(json.at("leaked_bytes"), 3);
  EXPECT_EQ(json.at("allocations"), 5);
  EXPECT_EQ(json.at("at_peak").size(), 3u);
  EXPECT_EQ(json.at("at_peak").at(2), Json({{"name", "output"}, {"kind", "image"}, {"bytes", 8}}));
  EXPECT_EQ(json.at("by_kind"), Json({{"buffer", 20}, {"host_pointer", 4}}));
  EXPECT_EQ(json.at("pool_reserved_peak_bytes"), 21);
  EXPECT_FALSE(json.contains("resident_peak_bytes"));
  EXPECT_EQ(json.at("allocation_sequence"),
            Json({{"kinds",
                   {{{"name", "input"}, {"phase", "inputs"}, {"where", "pad.cpp:61"}},
                    {{"name", ""}, {"phase", "call 1"}, {"where", ""}},
                    {{"name", ""}, {"phase", "call 1"}, {"where", ""}, {"process", "worker.py"}}}},
                  {"kind", {0, 1, 2}},
                  {"bytes", {7, 3, 2}},
                  {"allocated_at", {0, 1, 3}},
                  {"released_at", {4, 2, nullptr}},
                  {"not_repeated", {2}}}));
  EXPECT_EQ(observation_from_json_line(line).allocation_sequence, observation.allocation_sequence);
  EXPECT_EQ(json.at("destroys_input"), true);
  EXPECT_EQ(json.at("metrics"), Json({{"iterations", 12.0}, {"largest_error", 1.5e-7}}));
  EXPECT_EQ(json.at("metric_directions"), Json({{"largest_error", "lower"}}));
  EXPECT_EQ(observation_from_json_line(line).metrics, observation.metrics);
  EXPECT_EQ(json.at("gpu_time_ns").at("median"), 105.0);
  EXPECT_EQ(json.at("gpu_time_ns").at("blocks"), Json({{100.0, 90.0, 110.0}, {130.0, 100.0}}));
  EXPECT_EQ(json.at("kernels").at(0), Json({{"name", "pad"}, {"count", 4}, {"ns", 400}}));
  EXPECT_EQ(json.at("cache"), "cold");
  EXPECT_EQ(json.at("gpu_time_hot_ns").at("median"), 70.0);
  EXPECT_EQ(json.at("throttled_blocks"), 2);
  EXPECT_EQ(json.at("bytes_moved"), 4096);
  EXPECT_EQ(json.at("flops"), 1024.0);
  EXPECT_EQ(json.at("estimate").at("slices_estimated"), 19);
  EXPECT_TRUE(json.at("estimate").at("error").is_null());
  EXPECT_EQ(json.at("other_estimates").at(0).at("error"), "no such");
  EXPECT_TRUE(json.at("other_estimates").at(0).at("bytes_estimated").is_null());
}

TEST(ObservationLine, WhatIsUnknownIsNull) {
  const Json json = Json::parse(to_json_line(Observation{}));
  for (const char* key : {"requested_peak_bytes", "first_call_peak_bytes", "setup_bytes", "leaked_bytes",
                          "allocations", "pool_reserved_peak_bytes", "gpu_time_ns", "cache",
                          "gpu_time_hot_ns", "throttled_blocks", "bytes_moved", "flops", "estimate"}) {
    EXPECT_TRUE(json.at(key).is_null()) << key;
  }
  EXPECT_FALSE(json.contains("allocation_sequence"));
  const Observation back = observation_from_json_line(json.dump());
  EXPECT_FALSE(back.allocation_sequence);
  EXPECT_FALSE(back.requested_peak_bytes);
  EXPECT_FALSE(back.gpu_time);
  EXPECT_FALSE(back.estimate);
}

TEST(ObservationLine, ReportsWhichEstimatorWasNotAsked) {
  Observation observation = example_observation("a");
  observation.estimate->error = "not_asked: the run ended before";
  observation.estimate->is_asked = false;
  EXPECT_FALSE(observation_from_json_line(to_json_line(observation)).estimate->is_asked);
  // The answers of estimators decide nothing.
  observation.estimate->is_asked = true;
  EXPECT_TRUE(observation_from_json_line(to_json_line(observation)).estimate->is_asked);
  observation.estimate->error.reset();
  EXPECT_FALSE(Json::parse(to_json_line(observation))["estimate"].contains("asked"));
}

TEST(ObservationLine, RefusesASequenceThatIsNoTable) {
  const Json good = Json::parse(to_json_line(example_observation("a")));
  const auto is_refused = [&](const char* key, const Json& value) {
    Json json = good;
    json["allocation_sequence"][key] = value;
    try {
      observation_from_json_line(json.dump());
    } catch (const UsageError& error) {
      return std::string(error.what()).find(std::string("/allocation_sequence/") + key) != std::string::npos;
    }
    return false;
  };
  EXPECT_TRUE(is_refused("kind", {0, 1, 3}));
  EXPECT_TRUE(is_refused("kind", {0, 1, -1}));
  EXPECT_TRUE(is_refused("bytes", {7, 3}));
  EXPECT_TRUE(is_refused("bytes", {7, 3, -1}));
  EXPECT_TRUE(is_refused("allocated_at", {0, 1, 3, 5}));
  EXPECT_TRUE(is_refused("released_at", {0, 2, 4}));
  EXPECT_TRUE(is_refused("not_repeated", Json::array({3})));
}

// One run of `run --sequences` may have thousands of such cases.
TEST(ObservationLine, ALongSequenceIsAFewMegabytes) {
  Observation observation;
  observation.allocation_sequence.emplace();
  for (Size i = 0; i < static_cast<Size>(kMaxSequencedAllocations); ++i) {
    observation.allocation_sequence->push_back(
        {"temporary of a name that is long", "call 1", "file.cpp:7", 1 << 20, 2 * i, 2 * i + 1});
  }
  const std::string line = to_json_line(observation);
  EXPECT_LT(line.size(), 3'000'000);
  EXPECT_EQ(observation_from_json_line(line).allocation_sequence, observation.allocation_sequence);
}

TEST(ObservationLine, NamesWhatIsWrong) {
  Json json = Json::parse(to_json_line(Observation{}));
  const auto message = [](const std::string& line) -> std::string {
    try {
      observation_from_json_line(line);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_THAT(message("{\"case\": \"x\""), HasSubstr("not an observation"));
  json["requested_peak_bytes"] = 1.5;
  EXPECT_THAT(message(json.dump()),
              AllOf(HasSubstr("/requested_peak_bytes"), HasSubstr("must be an integer")));
  json["requested_peak_bytes"] = 18446744073709551615u;
  EXPECT_THAT(message(json.dump()), HasSubstr("fits 64 bits"));
  json["requested_peak_bytes"] = -5;
  EXPECT_THAT(message(json.dump()), HasSubstr("requested_peak_bytes is -5; bytes are 0 or more"));
  json["requested_peak_bytes"] = 1;
  json["outcome"] = "fine";
  EXPECT_THAT(message(json.dump()), AllOf(HasSubstr("'fine'"), HasSubstr("out_of_memory")));
  json.erase("outcome");
  EXPECT_THAT(message(json.dump()), HasSubstr("'outcome' not found"));
}

// PassRecord reports such a step, and its run file must be readable.
TEST(ObservationLine, InputsMayReleaseMoreThanTheyAdd) {
  Observation observation;
  observation.input_bytes = -30;
  observation.output_bytes = -1;
  const Observation back = observation_from_json_line(to_json_line(observation));
  EXPECT_EQ(back.input_bytes, -30);
  EXPECT_EQ(back.output_bytes, -1);
}

TEST(CaseNames, AreTheLinesOfAFile) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "cases").string();
  EXPECT_THROW(read_case_names(path), IoError);
  std::ofstream(path) << "\n";
  EXPECT_THAT([&] { read_case_names(path); }, ThrowsMessage<UsageError>(HasSubstr("no case in it")));
  std::ofstream(path) << "a/b/dry\n\na/c/dry/n:2";
  EXPECT_THAT(read_case_names(path), ElementsAre("a/b/dry", "a/c/dry/n:2"));
}

}  // namespace
}  // namespace peakmark
