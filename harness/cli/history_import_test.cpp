// Tests of `peakmark history import`: results of other programs become runs that the other commands can read.
#include <nlohmann/json.hpp>

#include "cli/history_command_testing.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Json = nlohmann::ordered_json;

class HistoryImport : public HistoryTest {
 protected:
  void SetUp() override {
#ifndef PEAKMARK_HAS_HISTORY
    GTEST_SKIP() << "built without histories";
#endif
  }
  Answer history(std::vector<std::string> words) const {
    return on_history("history", std::move(words));
  }

  /// A file of Google Benchmark with this day as its date.
  std::string google(const std::string& name, int day, const std::string& rows) const {
    const std::string path = folder_.path() / name;
    std::ofstream(path)
        << R"({"context": {"date": "2024-05-0)" << day
        << R"(T02:00:00+00:00", "host_name": "gpu-node-17", "executable": "/home/ada/blur_bench"},
 "benchmarks": [)"
        << rows << "]}\n";
    return path;
  }
  static std::string row(const std::string& name, const std::string& ns, const std::string& bytes) {
    return R"({"name": ")" + name + R"(", "run_name": ")" + name +
           R"(", "run_type": "iteration", "iterations": 10, "real_time": )" + ns +
           R"(, "time_unit": "ns", "device_peak": )" + bytes + "}";
  }
  static std::vector<std::string> on_h100(std::vector<std::string> words) {
    words.insert(words.end(), {"--device", "H100", "--backend", "cuda"});
    return words;
  }
};

TEST_F(HistoryImport, NamesAreNoCommandsOfALogNorFormulas) {
  const std::vector<std::string> names{"::error::x", "##vso[task.complete]y", "=SUM(1)"};
  for (const int day : {1, 2}) {
    const std::string bytes = std::to_string(4096 * day);
    const std::string file = google("run.json", day,
                                    row(names[0], "1000", bytes) + "," + row(names[1], "1000", bytes) + "," +
                                        row(names[2], "1000", bytes));
    const Answer added = history(on_h100({"import", file}));
    ASSERT_EQ(added.end.exit_code, 0) << added.errors;
    EXPECT_THAT(added.errors, Not(HasSubstr("note:")));
  }
  const Answer table = on_history("trends", {});
  EXPECT_EQ(table.end.exit_code, 1) << table.errors;
  const Answer json = on_history("trends", {"--json"});
  for (const Answer& one : {table, json}) {
    EXPECT_THAT(one.output, AllOf(Not(HasSubstr("##vso[")), Not(testing::ContainsRegex("(^|\n) *::"))));
  }
  std::vector<std::string> cases;
  const Json found = Json::parse(json.output);
  for (const Json& change : found.at("changes")) cases.push_back(change.at("case"));
  EXPECT_THAT(cases, testing::IsSupersetOf(names)) << "to a reader of JSON they are the same";
  EXPECT_THAT(history({"export"}).output,
              AllOf(HasSubstr(",'=SUM(1) gpu_time_ns,"), HasSubstr(",##vso[task.complete]y gpu_time_ns,")))
      << "CSV has no escape";
}

TEST_F(HistoryImport, OldResultsBecomeRunsThatTrendsAndExportsRead) {
  const std::string first = google("first.json", 1, row("blur/8", "1000", "4096"));
  const std::string second = google("second.json", 2, row("blur/8", "1001", "8192"));
  const Answer added = history(on_h100({"import", first, second, "--commit", "1a2b3c", "--branch", "main",
                                        "--base-branch", "main", "--json"}));
  ASSERT_EQ(added.end.exit_code, 0) << added.errors;
  EXPECT_THAT(added.errors, AllOf(HasSubstr("added, 1 case: run 1 of 'H100' (cuda); no baseline yet"),
                                  HasSubstr("added, 1 case: run 2 of 'H100' (cuda)")));
  const Json answer = Json::parse(added.output);
  EXPECT_EQ(answer.at("runs").at(0).at("branch"), "main");
  EXPECT_EQ(answer.at("runs").at(0).at("file"), first);

  const Json log = Json::parse(history({"log", "--json"}).output);
  ASSERT_EQ(log.at("count"), 2);
  const Json& newest = log.at("runs").at(0);
  EXPECT_EQ(newest.at("date"), "2024-05-02T02:00:00Z");
  EXPECT_EQ(newest.at("commit"), "1a2b3c");
  EXPECT_EQ(newest.at("suite"), "blur_bench");
  EXPECT_EQ(newest.at("host_name"), "");

  const Answer trends = on_history("trends", {});
  EXPECT_EQ(trends.end.exit_code, 1) << trends.errors;
  EXPECT_THAT(trends.output, AllOf(HasSubstr("regression (new)"), HasSubstr("requested_peak_bytes  4 KiB"),
                                   HasSubstr("8 KiB")));
  const std::string id = newest.at("run");
  EXPECT_EQ(history({"export"}).output,
            "time,commit,run,blur/8 gpu_time_ns,blur/8 requested_peak_bytes\n2024-05-01T02:00:00Z,1a2b3c," +
                std::string(log.at("runs").at(1).at("run")) + ",1000,4096\n2024-05-02T02:00:00Z,1a2b3c," +
                id + ",1001,8192\n");
  const std::string run_again = folder_.path() / "again.json";
  EXPECT_EQ(history({"export", "--format", "run", "-o", run_again}).end.exit_code, 0);
  EXPECT_EQ(peakmark({"check", run_again}).end.exit_code, 0);
  EXPECT_THAT(read_text_file(run_again), AllOf(Not(HasSubstr("gpu-node-17")), Not(HasSubstr("ada"))));
}

TEST_F(HistoryImport, ATimeThatIsNoLongerMeasuredIsARegression) {
  const std::string keeps = row("keeps", "1000", "4096");
  ASSERT_EQ(history(on_h100({"import", google("1.json", 1, keeps + ", " + row("stops", "1000", "4096")),
                             google("2.json", 2, keeps + ", " + row("stops", "0", "4096"))}))
                .end.exit_code,
            0);
  const Answer trends = on_history("trends", {});
  EXPECT_EQ(trends.end.exit_code, 1) << trends.output;
  EXPECT_THAT(trends.output,
              AllOf(HasSubstr("stops"), HasSubstr("incomplete"), HasSubstr("no time: real_time is 0")));
  // `check` reports the same for the run alone.
  const std::string run = folder_.path() / "run.json";
  ASSERT_EQ(history({"export", "--format", "run", "-o", run}).end.exit_code, 0);
  EXPECT_THAT(peakmark({"check", run}).output, AllOf(HasSubstr("1 warning (1 no time)"),
                                                     HasSubstr("stops: outcome: no time: real_time is 0")));

  // The same holds for a peak that is missing.
  ASSERT_EQ(history(on_h100({"import", google("3.json", 3, keeps + ", " + row("stops", "1000", "4096")),
                             google("4.json", 4, keeps + ", " + row("stops", "1000", "null"))}))
                .end.exit_code,
            0);
  const Answer without_peak = on_history("trends", {});
  EXPECT_EQ(without_peak.end.exit_code, 1) << without_peak.output;
  EXPECT_THAT(without_peak.output, HasSubstr("incomplete"));
}

TEST_F(HistoryImport, TheSameFileAgainChangesNothing) {
  const std::string file = google("first.json", 1, row("blur/8", "1000", "4096"));
  ASSERT_EQ(history(on_h100({"import", file})).end.exit_code, 0);
  const Answer again = history(on_h100({"import", file, file, "--json"}));
  EXPECT_EQ(again.end.exit_code, 0);
  EXPECT_THAT(again.errors, HasSubstr("exists already, nothing changed"));
  EXPECT_EQ(Json::parse(again.output).at("runs").at(1).at("was_there"), true);
  // The same file with another commit is not added as a second run.
  const Answer other = history(on_h100({"import", file, "--commit", "1a2b3c"}));
  EXPECT_EQ(other.end.exit_code, 2);
  EXPECT_THAT(other.errors, HasSubstr("is in the history with different contents; nothing was added"));
  EXPECT_THAT(history({"log"}).output, HasSubstr("\n1 run\n"));
}

TEST_F(HistoryImport, NothingIsAddedIfAFileIsRejected) {
  const std::string good = google("good.json", 1, row("blur/8", "1000", "4096"));
  const std::string bad = google("bad.json", 2, row("blur/8", "-1", "4096"));
  const Answer answer = history(on_h100({"import", good, bad}));
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_THAT(answer.errors, HasSubstr("bad.json: real_time of blur/8 is -1; must be 0 or more"));
  EXPECT_FALSE(std::filesystem::exists(file_));
  EXPECT_EQ(history({"import", good}).end.exit_code, 2);
  const Answer date = history(on_h100({"import", good, "--date", "yesterday"}));
  EXPECT_EQ(date.end.exit_code, 2);
  EXPECT_THAT(date.errors,
              HasSubstr("--date: 'yesterday' is not a date such as 2026-01-31 or 2026-01-31T02:00:00Z"));
}

TEST_F(HistoryImport, ExportsOfLongHistoriesLeaveOutRuns) {
  const std::string first = google("first.json", 1, row("blur/8", "1000", "4096"));
  const std::string second = google("second.json", 2, row("blur/8", "1001", "4096"));
  const std::string third = google("third.json", 3, row("blur/8", "1002", "4096"));
  ASSERT_EQ(history(on_h100({"import", first, second, third})).end.exit_code, 0);
  EXPECT_THAT(history({"export", "--max-runs", "2"}).output,
              AllOf(HasSubstr(",1000,4096\n"), Not(HasSubstr(",1001,")), HasSubstr(",1002,4096\n")));
  const std::string id = Json::parse(history({"log", "--json"}).output).at("runs").at(1).at("run");
  const std::string series = history({"export", "--format", "series", "--max-runs", "2"}).output;
  EXPECT_EQ(Json::parse(series.substr(0, series.find('\n'))).at("left_out"), Json({{id, 1}}));
  EXPECT_EQ(history({"export", "--max-runs", "1"}).end.exit_code, 2);
  EXPECT_EQ(history({"export", "--format", "run", "--max-runs", "2"}).end.exit_code, 2);
}

TEST_F(HistoryImport, ExportsAreChosenByDateAndBranch) {
  const std::string first = google("first.json", 1, row("blur/8", "1000", "4096"));
  const std::string second = google("second.json", 2, row("blur/8", "1001", "8192"));
  const std::string topic = google("topic.json", 3, row("blur/8", "1002", "5000"));
  ASSERT_EQ(
      history(on_h100({"import", first, second, "--branch", "main", "--base-branch", "main"})).end.exit_code,
      0);
  ASSERT_EQ(history(on_h100({"import", topic, "--branch", "pull/12", "--base-branch", "main"})).end.exit_code,
            0);
  EXPECT_THAT(history({"export", "--since", "2024-05-02"}).output,
              AllOf(StartsWith("time,"), HasSubstr("8192"), Not(HasSubstr("4096"))));
  EXPECT_EQ(history({"export", "--since", "2024-05-04"}).output, "");
  EXPECT_THAT(history({"export", "--branch", "pull/12"}).output,
              AllOf(HasSubstr(",1002,5000\n"), Not(HasSubstr("8192"))));
  EXPECT_EQ(history({"export", "--branch", "none"}).end.exit_code, 2);
  EXPECT_EQ(history({"export", "--since", "soon"}).end.exit_code, 2);
  EXPECT_EQ(history({"export", "--format", "run", "--since", "2024-05-02"}).end.exit_code, 2);

  EXPECT_EQ(Json::parse(history({"export", "--format", "bencher"}).output),
            Json::parse(R"({"blur/8": {"latency": {"value": 1001}, "peak-bytes": {"value": 8192}}})"));
  const std::string id = Json::parse(history({"log", "--json"}).output).at("runs").at(2).at("run");
  EXPECT_EQ(Json::parse(history({"export", "--format", "bencher", "--run", id}).output),
            Json::parse(R"({"blur/8": {"latency": {"value": 1000}, "peak-bytes": {"value": 4096}}})"));
  EXPECT_EQ(history({"export", "--format", "bencher", "--run", "none"}).end.exit_code, 2);
}

// Other programs record no memory. Nothing that they did not measure is judged.
TEST_F(HistoryImport, TimesAloneAreNoFailedMeasurement) {
  const std::string file = google("times.json", 1, R"({"name": "blur/8", "iterations": 10, "real_time": 5})");
  ASSERT_EQ(history(on_h100({"import", file})).end.exit_code, 0);
  const Answer trends = on_history("trends", {"--allow-uncompared"});
  EXPECT_EQ(trends.end.exit_code, 0);
  EXPECT_THAT(trends.output, HasSubstr("; 1 case: 1 pass, 0 fail"));
  const std::string run_again = folder_.path() / "again.json";
  ASSERT_EQ(history({"export", "--format", "run", "-o", run_again}).end.exit_code, 0);
  const Answer check = peakmark({"check", run_again});
  EXPECT_EQ(check.end.exit_code, 0) << check.output;
  EXPECT_THAT(check.output, HasSubstr("1 case: 1 pass"));
}

TEST_F(HistoryImport, ParquetIsWrittenByPython) {
  ASSERT_EQ(
      history(on_h100({"import", google("first.json", 1, row("blur/8", "1000", "4096"))})).end.exit_code, 0);
  EXPECT_THAT(history({"export", "--format", "parquet"}).errors, HasSubstr("name a file with -o"));
  const std::string python = folder_.path() / "python";
  std::ofstream(python) << "#!/bin/sh\ncat\nshift 2\necho \"$@\"\n";
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  environment_.push_back("PEAKMARK_PYTHON=" + python);
  const Answer answer = history({"export", "--format", "parquet", "-o", "out.parquet"});
  EXPECT_THAT(answer.output,
              AllOf(HasSubstr("\"requested_peak_bytes\":4096"), HasSubstr("parquet --output=out.parquet")));
}

}  // namespace
}  // namespace peakmark
