#include "measure/runfile/run_file.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <limits>

#include "base/error.hpp"
#include "base/files_testing.hpp"
#include "base/text_file.hpp"
#include "measure/runfile/json_fields.hpp"
#include "measure/runfile/sample_run.hpp"

namespace peakmark {
namespace {

using json_fields::Json;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class RunFile : public testing::Test {
 protected:
  std::filesystem::path put(const std::string& text) const {
    std::ofstream(path_) << text;
    return path_;
  }
  std::string message_of_reading(const std::string& text) const {
    try {
      read_run(put(text));
    } catch (const UsageError& error) {
      return error.what();
    }
    return "it was read without an error";
  }
  Json written(const peakmark::Run& run) const {
    write_run(run, path_);
    return Json::parse(read_text_file(path_));
  }

  const TemporaryFolder temporary_;
  const std::filesystem::path path_ = temporary_.path() / "run.json";
};

TEST_F(RunFile, ComesBackAsItWas) {
  const Json first = written(example_run());
  const peakmark::Run back = read_run(path_);
  EXPECT_EQ(written(back).at("benchmarks"), first.at("benchmarks"));
  EXPECT_EQ(written(back).at("context").at("peakmark"), first.at("context").at("peakmark"));
  EXPECT_EQ(back.context.id, "20260131T020000Z-0011223344556677");
  EXPECT_TRUE(back.context.complete);
  EXPECT_EQ(back.context.shard->count, 3);
  EXPECT_EQ(back.context.planned.at(0).window, (Window{0.7, 1.1}));
  EXPECT_EQ(back.context.planned.at(0).expected_outcome, "out_of_memory");
  EXPECT_EQ(back.context.planned.at(0).figure, "growth");
  EXPECT_EQ(back.context.planned.at(0).sweep_case.parameters,
            example_run().context.planned[0].sweep_case.parameters);
  EXPECT_EQ(back.context.reference.first_ns, 1000.5);
  EXPECT_FALSE(back.context.reference.last_ns);
  EXPECT_EQ(back.context.reference.median(), (ReferenceTime{1000.5, 20.5, 96}));
  EXPECT_EQ(back.context.environment.at("POCL_MEMORY_LIMIT"), "8");
  EXPECT_EQ(back.context.largest_allocation_bytes, 31);
  EXPECT_EQ(back.context.clocks, (Clocks{1200, 1980, std::nullopt, 3201, 5120}));
  EXPECT_EQ(back.observations.size(), 1u);
}

// The call moves 4096 bytes in 105 ns; the copy moves 96 bytes in 1000.5 ns.
TEST_F(RunFile, HasTheThroughputOfEachCase) {
  const Json throughput = written(example_run()).at("benchmarks").back().at("peakmark").at("throughput");
  EXPECT_DOUBLE_EQ(throughput.at("bytes_per_second"), 4096 / 105e-9);
  EXPECT_DOUBLE_EQ(throughput.at("share_of_copy"), (4096 / 105.) / (96 / 1000.5));
  EXPECT_DOUBLE_EQ(throughput.at("share_of_peak"), 4096 / 105e-9 / (3201 * 2e6 * 5120 / 8));
  EXPECT_DOUBLE_EQ(throughput.at("flops_per_second"), 1024 / 105e-9);
}

TEST_F(RunFile, HasGoogleBenchmarksSchema) {
  peakmark::Run run = example_run();
  run.observations.push_back(example_observation("padding/coords1d/opencl/n:21"));
  run.observations.back().gpu_time.reset();
  const Json json = written(run);
  EXPECT_EQ(json.at("context").at("peakmark").at("version"), format::kRunFile.major);
  const Json& rows = json.at("benchmarks");
  ASSERT_EQ(rows.size(), 4u);
  for (int index : {0, 1}) {
    EXPECT_EQ(rows[index].at("run_type"), "iteration");
    EXPECT_EQ(rows[index].at("name"), "padding/coords1d/opencl/n:20/ny:512");
    EXPECT_EQ(rows[index].at("repetitions"), 2);
    EXPECT_EQ(rows[index].at("repetition_index"), index);
    EXPECT_EQ(rows[index].at("time_unit"), "ns");
    EXPECT_FALSE(rows[index].contains("peakmark"));
  }
  EXPECT_EQ(rows[0].at("real_time"), 100.0);
  EXPECT_EQ(rows[0].at("iterations"), 3);
  EXPECT_EQ(rows[1].at("real_time"), 115.0);
  for (int index : {2, 3}) {
    EXPECT_EQ(rows[index].at("run_type"), "aggregate");
    EXPECT_TRUE(rows[index].contains("peakmark"));
    for (const char* key : {"real_time", "cpu_time", "time_unit"})
      EXPECT_FALSE(rows[index].contains(key)) << key;
  }
}

TEST_F(RunFile, Of0_1IsReadAndWrittenUnchanged) {
  const peakmark::Run run = read_run(PEAKMARK_RUN_OF_0_1);
  EXPECT_EQ(run.context.planned.size(), 4u);
  EXPECT_EQ(run.context.largest_allocation_bytes, std::nullopt);
  EXPECT_FALSE(run.context.rounds);
  ASSERT_EQ(run.observations.size(), 4u);
  const Observation& whole = run.observations[1];
  EXPECT_EQ(whole.variant, "mul_add/whole");
  EXPECT_EQ(whole.requested_peak_bytes, 2 * 4 * 3 * 60 * 70);
  EXPECT_EQ(whole.at_peak.size(), 2u);
  EXPECT_EQ(whole.estimate->bytes_estimated, whole.requested_peak_bytes);
  EXPECT_EQ(written(run), Json::parse(read_text_file(PEAKMARK_RUN_OF_0_1)));
}

// Fields that a later peakmark of the same MAJOR may have written.
TEST_F(RunFile, OfALaterMinorIsReadAndWhatIsNewInItIsSkipped) {
  Json json = written(example_run());
  Json& context = json["context"]["peakmark"];
  EXPECT_EQ(context.at("minor"), format::kRunFile.minor);
  context["minor"] = format::kRunFile.minor + 1;
  context["later"] = {{"than", "this"}};
  context["planned"][0]["later"] = 1;
  context["reference"]["later"] = 1;
  for (Json& row : json["benchmarks"]) {
    if (row.contains("peakmark")) row["peakmark"]["later"] = nullptr;
  }
  const peakmark::Run read = read_run(put(json.dump()));
  EXPECT_EQ(read.context.id, example_run().context.id);
  EXPECT_EQ(read.observations.size(), 1u);
}

// Planned cases and rows are written one by one.
TEST_F(RunFile, IsWrittenAsOneValueWouldBe) {
  peakmark::Run run = example_run();
  run.context.planned.push_back(run.context.planned.front());
  for (const int indent : {-1, 1}) {
    const std::string text = run_file_text(run, indent);
    EXPECT_EQ(text, Json::parse(text).dump(indent));
    run.context.planned.resize(1);
  }
}

TEST_F(RunFile, AWrongPlannedCaseIsNamed) {
  Json json = written(example_run());
  json["context"]["peakmark"]["planned"][0]["axes"] = 7;
  EXPECT_THAT(message_of_reading(json.dump()), HasSubstr("/context/peakmark/planned/0: "));
}

TEST_F(RunFile, ReaderReportsWhatIsWrong) {
  const std::string good = written(example_run()).dump(1);
  EXPECT_THAT(message_of_reading(""), AllOf(StartsWith(path_.string()), HasSubstr("empty")));
  EXPECT_THAT(message_of_reading(good.substr(0, good.size() / 2)), HasSubstr("cut short: it ends at line"));
  EXPECT_THAT(message_of_reading("{\n\"context\": oops}"), HasSubstr("not JSON: line 2, column 1"));
  EXPECT_THAT(message_of_reading("[1, 2]"), HasSubstr("not a run of peakmark"));
  EXPECT_THAT(message_of_reading(R"({"context": {"date": "today"}, "benchmarks": []})"),
              HasSubstr("not a run of peakmark"));

  Json json = Json::parse(good);
  json["context"]["peakmark"]["version"] = format::kRunFile.major + 1;
  EXPECT_THAT(message_of_reading(json.dump()),
              AllOf(HasSubstr("has version 2"), HasSubstr("reads version 1")));
  json["context"]["peakmark"]["version"] = format::kRunFile.major;
  json["context"]["peakmark"]["id"] = 7;
  EXPECT_THAT(message_of_reading(json.dump()),
              AllOf(HasSubstr("/context/peakmark/id"), HasSubstr("must be a string")));

  std::filesystem::remove(path_);
  EXPECT_THROW(read_run(path_), IoError);
  EXPECT_THROW(read_run(temporary_.path()), IoError);
}

/// Returns a run with this many cases, each with one row of JSON.
peakmark::Run large_run(int cases) {
  peakmark::Run run = example_run();
  PlannedCase planned = run.context.planned.front();
  run.context.planned.clear();
  run.observations.clear();
  for (int n = 1; n <= cases; ++n) {
    planned.name = "padding/coords1d/opencl/n:" + std::to_string(n);
    planned.sweep_case.parameters = Parameters({{"n", Size{n}}, {"mode", std::string("edge")}});
    run.context.planned.push_back(planned);
    run.observations.push_back(example_observation(planned.name));
    run.observations.back().axes = Parameters({{"n", Size{n}}, {"mode", std::string("edge")}});
  }
  return run;
}

// The file is larger than two of the pieces of 256 KiB in which it is read.
TEST_F(RunFile, ALargeOneComesBackAsItWas) {
  const peakmark::Run run = large_run(300);
  write_run(run, path_);
  const std::string text = read_text_file(path_);
  ASSERT_GT(text.size(), 2u << 18);
  EXPECT_TRUE(text == run_file_text(run, 1) + "\n");
  const peakmark::Run back = read_run(path_);
  EXPECT_TRUE(run_file_text(back, 1) == run_file_text(run, 1));
  ASSERT_EQ(back.observations.size(), 300u);
  for (std::size_t i = 0; i < 300; ++i) {  // the axes are in memory once
    EXPECT_EQ(&back.observations[i].axes.values(), &back.context.planned[i].sweep_case.parameters.values());
  }
  const std::string line = run_file_text(run, -1);
  EXPECT_TRUE(run_file_text(read_run(put(line)), -1) == line);
}

TEST_F(RunFile, AMistakeInALargeOneIsNamedWithItsLine) {
  const std::string good = run_file_text(large_run(300), 1);
  std::size_t line = 1;
  std::size_t start = 0;
  for (std::size_t end = good.find('\n'); end != std::string::npos; end = good.find('\n', start)) {
    if (line % 10'007 == 0) {
      EXPECT_THAT(message_of_reading(good.substr(0, start) + "oops" + good.substr(start)),
                  HasSubstr("not JSON: line " + std::to_string(line) + ", column 1"));
      EXPECT_THAT(message_of_reading(good.substr(0, end)),
                  HasSubstr("cut short: it ends at line " + std::to_string(line) + ", column " +
                            std::to_string(end - start) + " in the middle"));
    }
    ++line;
    start = end + 1;
  }
  EXPECT_GT(line, 20'014u);
}

TEST_F(RunFile, AStartOfOneIsCutShort) {
  const std::string good = run_file_text(example_run(), 1);
  for (std::size_t size = 1; size < good.size(); size += 17) {
    ASSERT_THAT(message_of_reading(good.substr(0, size)), HasSubstr("cut short: it ends at line")) << size;
  }
}

TEST_F(RunFile, NumbersComeBackExactly) {
  peakmark::Run run = large_run(1);
  Observation& observation = run.observations.front();
  observation.requested_peak_bytes = std::numeric_limits<Size>::max();
  observation.input_bytes = std::numeric_limits<Size>::min();
  observation.gpu_time = summarise_blocks({{0.1, 1e-300, 1.0 / 3, 123456789.123456789, 5e-324}});
  write_run(run, path_);
  const Observation back = read_run(path_).observations.front();
  EXPECT_EQ(back.requested_peak_bytes, observation.requested_peak_bytes);
  EXPECT_EQ(back.input_bytes, observation.input_bytes);
  EXPECT_EQ(back.gpu_time->blocks, observation.gpu_time->blocks);
}

// The lists contain values that are not cases, and there are objects where lists are expected.
TEST_F(RunFile, ListsOfOtherThingsAreRefused) {
  const Json good = written(example_run());
  const auto message = [&](const auto& spoil) {
    Json json = good;
    spoil(json);
    return message_of_reading(json.dump());
  };
  EXPECT_THAT(message([](Json& json) {
                json["benchmarks"] = {{"a", {{"b", 1}}}};
              }),
              HasSubstr("must be a list"));
  EXPECT_THAT(message([](Json& json) {
                json["context"]["peakmark"]["planned"] = {{"a", {{"b", 1}}}};
              }),
              HasSubstr("must be a list"));
  EXPECT_THAT(message([](Json& json) { json["context"]["peakmark"]["planned"].push_back(7); }),
              HasSubstr("not a valid run file"));
  EXPECT_THAT(message([](Json& json) { json["context"]["peakmark"].erase("planned"); }),
              HasSubstr("'planned' not found"));
  EXPECT_THAT(message([](Json& json) {
                json["benchmarks"].push_back({{"peakmark", 7}});
              }),
              HasSubstr("/benchmarks/3: "));
}

TEST_F(RunFile, ReplacesRunFilesAndEmptyOnesOnly) {
  const auto is_replaced = [&](const std::string& text) {
    put(text);
    try {
      write_run(example_run(), path_);
      return true;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), AllOf(StartsWith(path_.string()), HasSubstr("is not a run file of peakmark"),
                                      HasSubstr("choose another file")));
      EXPECT_EQ(read_text_file(path_), text);
      return false;
    }
  };
  const std::string good = written(example_run()).dump(1);
  EXPECT_TRUE(is_replaced(good));
  EXPECT_TRUE(is_replaced(""));
  EXPECT_TRUE(is_replaced("\n"));
  EXPECT_TRUE(is_replaced(good.substr(0, good.size() / 2))) << "a run file cut short";
  EXPECT_FALSE(is_replaced("name = \"smoke\"\n"));
  EXPECT_FALSE(is_replaced("[1, 2]"));
  EXPECT_FALSE(is_replaced("{\"cases\": ["));
  EXPECT_FALSE(is_replaced(R"({"context": {"date": "today"}, "benchmarks": []})")) << "Google Benchmark's";
}

TEST_F(RunFile, HasDeviceClassesAndVersionsOnlyWhereTheyAreSet) {
  peakmark::Run run = example_run();
  Json json = written(run);
  EXPECT_FALSE(json.at("context").at("peakmark").contains("device_class"));
  EXPECT_FALSE(json.at("context").at("peakmark").at("planned")[0].contains("version"));
  EXPECT_FALSE(json.at("benchmarks").back().at("peakmark").contains("version"));
  EXPECT_FALSE(json.at("benchmarks").back().at("peakmark").contains("device"));
  run.context.device_class = "hosted-cpu";
  run.context.planned[0].version = 2;
  run.observations[0].version = 2;
  run.observations[0].device = "cpu-znver3-AMD EPYC 7763";
  json = written(run);
  const peakmark::Run read = read_run(put(json.dump()));
  EXPECT_EQ(read.context.device_class, "hosted-cpu");
  EXPECT_EQ(read.context.planned[0].version, 2);
  EXPECT_EQ(read.observations[0].version, 2);
  EXPECT_EQ(time_method(read.observations[0]).substr(6), ", cold, median, on cpu-AMD EPYC 7763");
}

}  // namespace
}  // namespace peakmark
