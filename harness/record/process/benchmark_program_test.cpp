// Tests of a Google Benchmark program with memory, on an OpenCL device.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/files_testing.hpp"
#include "base/program.hpp"
#include "record/subprocess/worker_process.hpp"

namespace peakmark {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class BenchmarkProgram : public testing::Test {
 protected:
  Answer run(std::vector<std::string> arguments, const std::string& libraries = "") const {
    std::vector<std::string> environment = current_environment();
    // The tests look here for files that the program leaves behind.
    set_variable(environment, "TMPDIR", folder_.path().string());
    if (!libraries.empty()) set_variable(environment, "PEAKMARK_LIBRARY_DIR", libraries);
    Answer answer =
        ask({PEAKMARK_BENCHMARK_PROGRAM, std::move(arguments), environment, ""}, std::chrono::seconds(120));
    EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
    return answer;
  }

  /// Returns the rows of its JSON, by name.
  static std::map<std::string, json> rows(const std::string& text) {
    std::map<std::string, json> rows;
    const json whole = json::parse(text);
    for (const json& row : whole.at("benchmarks")) rows[row.at("name")] = row;
    return rows;
  }

  const TemporaryFolder folder_;
};

TEST_F(BenchmarkProgram, ItsJsonHasWhatItAllocatesToTheByte) {
  const Answer answer = run({"--benchmark_format=json"});
  const auto row = rows(answer.output);
  const json& large = row.at("buffers/4096/iterations:4");
  EXPECT_EQ(large.at("max_bytes_used"), 1000 + 4096 + 3);
  EXPECT_EQ(large.at("total_allocated_bytes"), 1000 + 4 * (4096 + 3));
  EXPECT_EQ(large.at("net_heap_growth"), 0);
  EXPECT_DOUBLE_EQ(large.at("allocs_per_iter"), 9 / 4.);
  EXPECT_EQ(row.at("buffers/64/iterations:4").at("max_bytes_used"), 1000 + 64 + 3);
  EXPECT_EQ(row.at("host/iterations:1").at("max_bytes_used"), 0);

  const json& columns = row.at("columns/iterations:10");
  EXPECT_EQ(columns.at("device_peak"), 1024.);
  EXPECT_EQ(columns.at("device_total"), 1240.);
  EXPECT_EQ(columns.at("device_allocations"), 11.);
  EXPECT_EQ(columns.at("max_bytes_used"), 1024);

  // The timed run before leaked 500 bytes. They are live, but they are not growth in the run that measures
  // memory.
  EXPECT_EQ(row.at("leak/iterations:1").at("max_bytes_used"), 1000);
  EXPECT_EQ(row.at("leak/iterations:1").at("net_heap_growth"), 500);

  // The fields that readers of Google Benchmark's JSON depend on are unchanged.
  for (const auto& [name, one] : row) {
    EXPECT_EQ(one.at("run_name"), name);
    EXPECT_EQ(one.at("run_type"), "iteration");
    EXPECT_TRUE(one.at("real_time").is_number() && one.at("cpu_time").is_number() &&
                one.at("time_unit").is_string());
  }
  EXPECT_THAT(answer.errors, Not(HasSubstr("peakmark")));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

#ifdef PEAKMARK_COMPARE_PY
TEST_F(BenchmarkProgram, ComparePyReadsIt) {
  const std::string file = (folder_.path() / "run.json").string();
  run({"--benchmark_filter=buffers", "--benchmark_repetitions=2", "--benchmark_out=" + file,
       "--benchmark_out_format=json"});
  const Answer compared =
      ask({PEAKMARK_PYTHON, {PEAKMARK_COMPARE_PY, "--no-color", "benchmarks", file, file}, {}, ""},
          std::chrono::seconds(120));
  EXPECT_EQ(compared.end.exit_code, 0) << compared.errors;
  EXPECT_THAT(compared.output, AllOf(HasSubstr("buffers/64/iterations:4"), HasSubstr("+0.0000")));
}
#endif

TEST_F(BenchmarkProgram, AMissingRecorderIsReportedAndChangesNothing) {
  const Answer answer = run({"--benchmark_format=json"}, folder_.path().string());
  EXPECT_THAT(answer.errors, AllOf(HasSubstr("peakmark: device memory is not measured"),
                                   HasSubstr("libpeakmark-opencl.so"), HasSubstr("PEAKMARK_LIBRARY_DIR")));
  const auto row = rows(answer.output);
  EXPECT_FALSE(row.at("buffers/64/iterations:4").contains("max_bytes_used"));
  EXPECT_FALSE(row.at("columns/iterations:10").contains("device_peak"));
}

TEST_F(BenchmarkProgram, AttachingTooLateIsReported) {
  const Answer answer = run({"late", "--benchmark_format=json"});
  EXPECT_THAT(answer.errors, AllOf(HasSubstr("OpenCL was called before"), HasSubstr("peakmark record")));
  EXPECT_FALSE(rows(answer.output).at("buffers/64/iterations:4").contains("max_bytes_used"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

}  // namespace
}  // namespace peakmark
