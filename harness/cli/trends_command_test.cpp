// Tests of `peakmark trends` and `trends accept` with the whole program, on a SQLite file.
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

#include "analyse/explain/derive/sample_explained_run.hpp"
#include "base/text.hpp"
#include "base/text_file.hpp"
#include "cli/history_command_testing.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Json = nlohmann::ordered_json;

constexpr const char* kGrown = "fake/case/dry/n:2";

class TrendsCommand : public HistoryTest {
 protected:
  Answer trends(std::vector<std::string> words = {}) const { return on_history("trends", std::move(words)); }
  /// Adds the run again with another day as its date. One case needs `more_bytes` more.
  void add_run(int day, int more_bytes, const std::string& device = {}) const {
    Json json = Json::parse(read_text_file(run_file_));
    Json& context = json.at("context").at("peakmark");
    context["id"] = "run-0" + std::to_string(day);
    if (!device.empty()) context["device"] = device;
    context["date"] = "2026-01-0" + std::to_string(day) + "T02:00:00Z";
    for (Json& row : json.at("benchmarks")) {
      if (!row.contains("peakmark") || row.at("peakmark").at("case") != kGrown) continue;
      Json& bytes = row.at("peakmark").at("requested_peak_bytes");
      bytes = bytes.get<std::int64_t>() + more_bytes;
    }
    const std::string path = folder_.path() / ("run" + std::to_string(day) + ".json");
    std::ofstream(path) << json.dump(1);
    const Answer added = on_history("history", {"add", path});
    ASSERT_EQ(added.end.exit_code, 0) << added.errors;
  }
};

TEST_F(TrendsCommand, ADeviceIsReportedWithoutTheOthers) {
  add_run(1, 0);
  add_run(2, 0);
  add_run(3, 256);
  const std::string here = Json::parse(trends({"--json"}).output).at("changes").at(0).at("device");
  for (const int day : {4, 5}) add_run(day, 0, "another device");

  const Answer another = trends({"--json", "--device", "newest"});
  EXPECT_EQ(another.end.exit_code, 0) << another.errors;
  EXPECT_EQ(Json::parse(another.output).at("changes").size(), 0U);
  EXPECT_EQ(trends({"--device", "another device"}).end.exit_code, 0);
  EXPECT_EQ(trends({"--device", here}).end.exit_code, 1);
  EXPECT_EQ(trends().end.exit_code, 1);
  const Answer wrong = trends({"--device", "third"});
  EXPECT_EQ(wrong.end.exit_code, 2);
  EXPECT_THAT(wrong.errors,
              AllOf(HasSubstr("--device 'third': not in this history"), HasSubstr("'another device'")));
  const auto count_files = [&] {
    const std::filesystem::directory_iterator files(folder_.path());
    return std::distance(begin(files), end(files));
  };
  const auto before = count_files();
  const std::string output = folder_.path() / "series.jsonl";
  const Answer exported =
      on_history("history", {"export", "--format", "jsonl", "--device", "third", "-o", output});
  EXPECT_EQ(exported.end.exit_code, 2) << exported.errors;
  EXPECT_EQ(count_files(), before) << "half a file is left";
}

TEST_F(TrendsCommand, WritesASummaryToAPipe) {
  add_run(1, 0);
  add_run(2, 0);
  const Answer answer = trends({"--markdown", "/dev/stdout"});
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  EXPECT_THAT(answer.output, StartsWith("## nothing to do\n"));
}

TEST_F(TrendsCommand, ExitsOneWhileARegressionIsOpen) {
  add_run(1, 0);
  const Answer first = trends();
  EXPECT_EQ(first.end.exit_code, 4) << first.errors;
  EXPECT_THAT(first.output, StartsWith("nothing was compared"));
  EXPECT_EQ(trends({"--allow-uncompared"}).end.exit_code, 0);
  add_run(2, 0);
  EXPECT_THAT(trends().output, StartsWith("nothing to do"));

  add_run(3, 256);
  const std::string markdown = folder_.path() / "trends.md";
  const Answer grown = trends({"--json", "--markdown", markdown});
  EXPECT_EQ(grown.end.exit_code, 1) << grown.errors;
  const Json json = Json::parse(grown.output);
  EXPECT_EQ(json.at("exit_code"), 1);
  EXPECT_EQ(json.at("changes").at(0).at("case"), kGrown);
  EXPECT_EQ(json.at("changes").at(0).at("run"), "run-03");
  EXPECT_THAT(read_text_file(markdown), StartsWith("## 1 finding: 1 regression"));
  add_run(4, 256);
  EXPECT_EQ(trends().end.exit_code, 1) << "until somebody has looked";

  EXPECT_EQ(trends({"accept", kGrown, "--reason", " "}).end.exit_code, 2);
  EXPECT_THAT(trends({"accept", "fake/case/dry", "--reason", "x"}).errors, HasSubstr("no open change"));
  const Answer accepted = trends({"accept", kGrown, "--reason", "flags are needed", "--who", "ada"});
  EXPECT_EQ(accepted.end.exit_code, 0) << accepted.errors;
  const Answer after = trends({"--json"});
  EXPECT_EQ(after.end.exit_code, 0);
  const Json now = Json::parse(after.output);
  EXPECT_EQ(now.at("changes").at(0).at("state"), "accepted");
  EXPECT_EQ(now.at("accepted").at(0).at("who"), "ada");
  EXPECT_EQ(now.at("accepted").at(0).at("reason"), "flags are needed");
}

// The same happens in a nightly job, where both commands must succeed.
TEST_F(TrendsCommand, WhatIsAcceptedDoesNotFailTheCheck) {
  add_run(1, 0);
  add_run(2, 256);
  const std::string baseline = folder_.path() / "run1.json";
  const std::string run = folder_.path() / "run2.json";
  const auto check = [&](const std::string& file) {
    return on_history("check", {file, "--baseline", baseline});
  };
  EXPECT_EQ(check(run).end.exit_code, 1) << "nothing is accepted yet";
  ASSERT_EQ(trends({"accept", kGrown, "--reason", "flags are needed", "--who", "ada"}).end.exit_code, 0);
  const Answer accepted = check(run);
  EXPECT_EQ(accepted.end.exit_code, 0) << accepted.output << accepted.errors;
  EXPECT_THAT(accepted.output, HasSubstr(" by ada: flags are needed"));
  EXPECT_EQ(trends().end.exit_code, 0);
  EXPECT_EQ(peakmark({"check", run, "--baseline", baseline}).end.exit_code, 1) << "without the history";
  add_run(3, 300);
  EXPECT_EQ(check(folder_.path() / "run3.json").end.exit_code, 1) << "more than accepted";
  const Answer none = peakmark({"check", run, "--history", folder_.path() / "none.db"});
  EXPECT_EQ(none.end.exit_code, 2);
  EXPECT_THAT(none.errors, HasSubstr("no history here"));
}

TEST_F(TrendsCommand, ARunWithoutAShardIsRed) {
  add_run(1, 0);
  peakmark::Run run = read_run(run_file_);
  run.context.id = "partial";
  run.context.complete = false;
  run.context.partial = "shard 2 of 2 is missing";
  run.context.planned.pop_back();
  run.observations.pop_back();
  write_run(run, run_file_);
  EXPECT_EQ(on_history("history", {"add", run_file_.string()}).end.exit_code, 0);
  const Answer answer = trends();
  EXPECT_EQ(answer.end.exit_code, 1);
  EXPECT_THAT(answer.output, HasSubstr("; partial: shard 2 of 2 is missing\n"));
}

TEST_F(TrendsCommand, ANightThatWasNotMeasuredIsNotGreen) {
  const auto dated = [&](const std::string& id, std::chrono::hours ago) {
    peakmark::Run run = read_run(run_file_);
    run.context.id = id;
    run.context.date = utc_date(std::chrono::system_clock::now() - ago);
    run.context.commit = "1a2b3c4d5e6f708192a3";
    const std::string path = folder_.path() / (id + ".json");
    write_run(run, path);
    EXPECT_EQ(on_history("history", {"add", path}).end.exit_code, 0);
  };
  dated("first", std::chrono::hours(80));
  dated("second", std::chrono::hours(50));
  EXPECT_EQ(trends().end.exit_code, 0);
  EXPECT_THAT(trends().output, HasSubstr(", 2 days ago, commit 1a2b3c4d5e6f\n"));
  EXPECT_EQ(trends({"--max-age", "51h"}).end.exit_code, 0);
  const Answer stale = trends({"--max-age", "36h", "--json"});
  EXPECT_EQ(stale.end.exit_code, 4);
  EXPECT_THAT(stale.errors, HasSubstr("1 suite is without a run of the last 36h: exit code 4"));
  const Json json = Json::parse(stale.output);
  EXPECT_EQ(json.at("exit_code"), 4);
  EXPECT_EQ(json.at("headline"), "1 suite was not measured lately; nothing to do");
  EXPECT_EQ(json.at("newest_runs").at(0).at("run"), "second");
  EXPECT_EQ(json.at("newest_runs").at(0).at("is_stale"), true);
  EXPECT_GE(json.at("newest_runs").at(0).at("age_seconds"), 50 * 3600);
  EXPECT_THAT(trends({"--max-age", "2d"}).output, HasSubstr("; older than --max-age allows\n"));
  dated("third", std::chrono::hours(1));
  EXPECT_EQ(trends({"--max-age", "36h"}).end.exit_code, 0);
  for (const char* const wrong : {"36", "-1h", "h", "36 weeks", ""})
    EXPECT_EQ(trends({"--max-age", wrong}).end.exit_code, 2) << wrong;
  EXPECT_EQ(trends({"--max-age", "36h", "--branch", "pull/1"}).end.exit_code, 2);
}

TEST_F(TrendsCommand, AnEmptyHistoryIsNotMeasured) {
  ASSERT_EQ(on_history("history", {"create"}).end.exit_code, 0);
  EXPECT_EQ(trends({"--max-age", "36h"}).end.exit_code, 4);
}

TEST_F(TrendsCommand, FormulasDescribeChangesAndWrongEstimates) {
  const auto add = [&](int day, Size element_bytes) {
    peakmark::Run run = padding_run({"edge"});
    run.context.id = "run-0" + std::to_string(day);
    run.context.date = "2026-01-0" + std::to_string(day) + "T02:00:00Z";
    for (Observation& observation : run.observations) {
      PlannedCase planned;
      planned.name = observation.case_name;
      planned.sweep_case = {observation.variant, observation.backend, observation.axes};
      run.context.planned.push_back(planned);
      AllocationSequence& sequence = *observation.allocation_sequence;
      // The estimator forgets the coordinates of rows.
      const Size estimated = *observation.requested_peak_bytes - sequence[2].bytes;
      const Size n = observation.axes.integer("n");
      observation.estimate = EstimateObservation{"theirs", "module", n, n, estimated, {}, {}};
      const Size more = sequence[2].bytes * (element_bytes - 4) / 4;
      sequence[2].bytes += more;
      *observation.requested_peak_bytes += more;
    }
    const std::filesystem::path path = folder_.path() / "padding.json";
    write_run(run, path);
    const Answer added = on_history("history", {"add", path.string()});
    ASSERT_EQ(added.end.exit_code, 0) << added.errors;
  };
  add(1, 4);
  const Json first = Json::parse(trends({"--json"}).output);
  EXPECT_EQ(first.at("cases").at(0).at("state"), "window");
  EXPECT_EQ(first.at("cases").at(0).at("texts"),
            Json({"theirs: missing: 1 of 2 allocations of 4·(ny + 2·pad_y)·(nx + 2·pad_x), row coordinates, "
                  "padding.py:88: the same bytes as column coordinates (padding.py:89)"}));
  add(2, 8);
  const Json second = Json::parse(trends({"--json"}).output);
  const Json& changes = second.at("changes");
  const auto peak = std::ranges::find_if(
      changes, [](const Json& change) { return change.at("metric") == "requested_peak_bytes"; });
  ASSERT_NE(peak, changes.end());
  EXPECT_EQ(
      peak->at("formulas"),
      Json({"row coordinates (setup): 4·(ny + 2·pad_y)·(nx + 2·pad_x) → 8·(ny + 2·pad_y)·(nx + 2·pad_x)"}));
}

TEST_F(TrendsCommand, CountsCasesAsCheckDoes) {
  suite({"ok", "unsupported", "out_of_memory", "abort"});
  ASSERT_EQ(run().end.exit_code, 3);
  ASSERT_EQ(on_history("history", {"add", run_file_.string()}).end.exit_code, 0);
  const Json checked = Json::parse(peakmark({"check", run_file_.string(), "--json"}).output);
  const Json found = Json::parse(trends({"--json"}).output);
  EXPECT_EQ(found.at("tally"), checked.at("headline"));
  EXPECT_EQ(found.at("cases_needing_action"), 1);
  EXPECT_THAT(trends().output,
              StartsWith("1 finding: 1 failed measurement; nothing was compared: first run of each device; " +
                         checked.at("headline").get<std::string>()));
}

TEST_F(TrendsCommand, WithoutAHistoryItReportsWhatToDo) {
  const Answer none = trends();
  EXPECT_EQ(none.end.exit_code, 2);
  EXPECT_THAT(none.errors, HasSubstr("history create"));
}

TEST_F(TrendsCommand, ARunTakesTheHistoryToConfirmAgainst) {
  add_run(1, 0);
  EXPECT_EQ(run({"--confirm", file_}).end.exit_code, 0);
  EXPECT_THAT(read_run(run_file_).context.warnings, Not(Contains(HasSubstr("not confirmed"))));
  EXPECT_EQ(run({"--confirm", file_, "--memory-only"}).end.exit_code, 2);
}

TEST_F(TrendsCommand, ADeviceThatTheHistoryDoesNotHaveIsMeasuredWithoutConfirmation) {
  ASSERT_EQ(on_history("history", {"create"}).end.exit_code, 0);
  const Answer first = run({"--confirm", file_});
  EXPECT_EQ(first.end.exit_code, 0);
  EXPECT_THAT(first.errors, Not(HasSubstr("no run in the history"))) << "it has no run of any device";
  peakmark::Run of_another_device = read_run(run_file_);
  of_another_device.context.device = "another device";
  write_run(of_another_device, run_file_);
  ASSERT_EQ(on_history("history", {"add", run_file_.string()}).end.exit_code, 0);
  const Answer unknown = run({"--confirm", file_});
  EXPECT_EQ(unknown.end.exit_code, 0) << unknown.errors;
  EXPECT_THAT(unknown.errors, HasSubstr("note: no case is confirmed: 'dry' (dry) has no run in the history"));
  EXPECT_THAT(read_run(run_file_).context.warnings, Not(Contains(HasSubstr("not confirmed"))));
}

TEST_F(TrendsCommand, AHistoryThatDoesNotExistIsAnErrorBeforeAnythingIsMeasured) {
  std::filesystem::remove(run_file_);
  std::ofstream(folder_.path() / "empty.db");
  for (const std::string& name :
       {(folder_.path() / "typo.db").string(), (folder_.path() / "empty.db").string(),
        std::string("/nowhere/at/all.db"), (folder_.path() / "suite.toml").string()}) {
    const bool existed = std::filesystem::exists(name);
    const Answer answer = run({"--confirm", name});
    EXPECT_EQ(answer.end.exit_code, 2) << name;
    EXPECT_THAT(answer.errors, AllOf(HasSubstr(name), ContainsRegex("(no|not a) history")));
    EXPECT_EQ(std::filesystem::exists(name), existed) << name;
    EXPECT_FALSE(std::filesystem::exists(run_file_)) << name;
  }
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"history", "prune", "--older-than", "1"},
        {"history", "rename-device", "a", "b"},
        {"trends", "accept", "a", "--reason", "b"}}) {
    const Answer answer = on_history(words.front(), {words.begin() + 1, words.end()});
    EXPECT_EQ(answer.end.exit_code, 2) << words.at(1);
    EXPECT_THAT(answer.errors, HasSubstr("no history here"));
    EXPECT_FALSE(std::filesystem::exists(file_)) << words.at(1);
  }
}

TEST_F(TrendsCommand, AnEmptyHistoryIsCreatedForTheFirstRun) {
  for (int number = 1; number <= 2; ++number) {
    const Answer created = on_history("history", {"create"});
    EXPECT_EQ(created.end.exit_code, 0) << created.errors;
    EXPECT_EQ(trends().end.exit_code, 4) << "nothing to compare with";
    EXPECT_EQ(run({"--confirm", file_}).end.exit_code, 0);
    EXPECT_THAT(read_run(run_file_).context.warnings, Not(Contains(HasSubstr("not confirmed"))));
    EXPECT_EQ(on_history("history", {"add", run_file_.string()}).end.exit_code, 0);
  }
  EXPECT_THAT(on_history("history", {"log"}).output, HasSubstr("\n2 runs\n"));
}

TEST_F(TrendsCommand, ADatabaseThatFailsCostsOnlyTheConfirmation) {
  std::filesystem::remove(run_file_);
  const Answer answer = run({"--confirm", "postgresql://ada:secret@127.0.0.1:1/bench"});
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  EXPECT_THAT(answer.errors,
              AllOf(HasSubstr("warning: the run is not confirmed: postgresql://ada@127.0.0.1:1/bench"),
                    Not(HasSubstr("secret"))));
  EXPECT_THAT(
      read_run(run_file_).context.warnings,
      Contains("not confirmed (--confirm): the history cannot be read: its database cannot be reached, or "
               "refuses the connection"));
  const std::string markdown = folder_.path() / "summary.md";
  EXPECT_EQ(peakmark({"check", run_file_.string(), "--markdown", markdown}).end.exit_code, 0);
  EXPECT_THAT(read_text_file(markdown), HasSubstr("not confirmed"));
}

TEST_F(TrendsCommand, InARunWithAFilterOtherCasesHaveNotLeft) {
  add_run(1, 0);
  ASSERT_EQ(run({"--filter", "n:2$", "--backend", "dry"}).end.exit_code, 0);
  EXPECT_EQ(read_run(run_file_).context.filter, "n:2$");
  EXPECT_EQ(read_run(run_file_).context.asked_backend, "dry");
  ASSERT_EQ(on_history("history", {"add", run_file_.string()}).end.exit_code, 0);
  const Json json = Json::parse(trends({"--json"}).output);
  EXPECT_EQ(json.at("runs"), 2);
  EXPECT_EQ(json.at("left_suite"), Json::array());
}

TEST_F(TrendsCommand, ARunOfARenamedDeviceIsComparedWithAllOfItsRuns) {
  suite({"timed"});
  ASSERT_EQ(run().end.exit_code, 0);
  constexpr int kRuns = 26;
  std::vector<std::string> files{"add"};
  for (int number = 1; number <= kRuns; ++number) {
    peakmark::Run added = read_run(run_file_);
    added.context.id = "run-" + std::to_string(number);
    added.context.date = "2026-01-" + std::to_string(100 + number).substr(1) + "T02:00:00Z";
    if (number < kRuns) added.context.device = "dry of old";
    files.push_back(folder_.path() / (added.context.id + ".json"));
    write_run(added, files.back());
  }
  ASSERT_EQ(on_history("history", files).end.exit_code, 0);
  ASSERT_EQ(on_history("history", {"rename-device", "dry", "dry of old"}).end.exit_code, 0);
  environment_.push_back("FAKE_WORKER_SLOWDOWN=1.5");
  const Answer confirmed = run({"--confirm", file_});
  EXPECT_EQ(confirmed.end.exit_code, 0);
  EXPECT_THAT(confirmed.errors, HasSubstr("1 of 1 case looks suspicious: timed again"));
  EXPECT_TRUE(read_run(run_file_).observations.at(0).gpu_time_again);
}

/// From the third run on, both cases need more.
class TrendsAccept : public TrendsCommand {
 protected:
  void SetUp() override {
    TrendsCommand::SetUp();
    for (int day = 1; day <= 3; ++day) {
      peakmark::Run of_day = read_run(run_file_);
      of_day.context.id = "run-" + std::to_string(day);
      of_day.context.date = "2026-01-0" + std::to_string(day) + "T02:00:00Z";
      of_day.context.commit = day == 3 ? "feedface" : "c0ffee";
      for (Observation& one : of_day.observations) *one.requested_peak_bytes += day == 3 ? 256 : 0;
      const std::string path = folder_.path() / (of_day.context.id + ".json");
      write_run(of_day, path);
      ASSERT_EQ(on_history("history", {"add", path}).end.exit_code, 0);
    }
    ASSERT_EQ(trends().end.exit_code, 1);
  }
  Answer accept(std::vector<std::string> words) const {
    words.insert(words.begin(), "accept");
    return trends(words);
  }
  std::string accepted() const { return accept({"--list"}).output; }
};

TEST_F(TrendsAccept, TrendsAreGroupedByCause) {
  const Answer printed = trends({"--markdown", folder_.path() / "trends.md"});
  EXPECT_THAT(printed.output,
              AllOf(HasSubstr("new since the previous run:\n"), HasSubstr("fake/case, 2 cases, largest: "),
                    HasSubstr("c0ffee..feedface"), Not(HasSubstr("still open"))));
  EXPECT_THAT(
      read_text_file(folder_.path() / "trends.md"),
      AllOf(HasSubstr("**new since the previous run**"), HasSubstr("`fake/case`, 2 cases, largest: `fake/")));
  const Json json = Json::parse(trends({"--json"}).output);
  ASSERT_EQ(json.at("findings").size(), 1U);
  EXPECT_EQ(json.at("findings")[0].at("cases").size(), 2U);
  EXPECT_EQ(json.at("changes").size(), 2U);
}

TEST_F(TrendsAccept, TakesAPatternACommitOrAllOfAFinding) {
  const Json found = Json::parse(trends({"--json"}).output);
  const auto id = found.at("findings").at(0).at("finding").get<std::string>();
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"fake/*"}, {"--commit", "feedf"}, {kGrown, "--all"}, {"--finding", id}}) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--reason", "a cache", "--who", "ada"});
    const Answer answer = accept(all);
    EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
    constexpr const char* kFinding =
        "accepted: fake/case, 2 cases, requested_peak_bytes, from run run-3 on, by ada: a cache\n";
    EXPECT_EQ(answer.errors, kFinding);
    const Answer printed = trends();
    EXPECT_EQ(printed.end.exit_code, 0) << words[0];
    EXPECT_THAT(printed.output, HasSubstr(kFinding));
    EXPECT_THAT(accepted(), HasSubstr("  fake/case, 2 cases  requested_peak_bytes  run-3"));
    EXPECT_EQ(accept({"--undo", "fake/*"}).errors, std::string("no longer ") + kFinding);
    EXPECT_EQ(trends().end.exit_code, 1) << "open again";
  }
  EXPECT_THAT(accept({"fake/case/dry/n:none*", "--reason", "x"}).errors, HasSubstr("no open change"));
  EXPECT_THAT(accept({"--commit", "c0ffee", "--reason", "x"}).errors,
              HasSubstr("no open change: commit c0ffee. `peakmark trends` lists the open ones; "));
}

TEST_F(TrendsAccept, AFindingOfTwoDevicesIsAcceptedOnBoth) {
  for (int day = 2; day <= 3; ++day) {
    peakmark::Run of_day = read_run(folder_.path() / ("run-" + std::to_string(day) + ".json"));
    of_day.context.id = "other-" + std::to_string(day);
    of_day.context.device = "another device";
    const std::string path = folder_.path() / (of_day.context.id + ".json");
    write_run(of_day, path);
    ASSERT_EQ(on_history("history", {"add", path}).end.exit_code, 0);
  }
  EXPECT_THAT(trends().output, AllOf(HasSubstr("fake/case, 4 cases, largest: "), HasSubstr("2 devices: ")));
  const Json findings = Json::parse(trends({"--json"}).output).at("findings");
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].at("devices").size(), 2U);
  const auto id = findings[0].at("finding").get<std::string>();
  const Answer answer = accept({"--finding", id, "--reason", "a cache"});
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  EXPECT_THAT(answer.errors, AllOf(HasSubstr("from run run-3 on"), HasSubstr("from run other-3 on")));
  EXPECT_EQ(trends().end.exit_code, 0);
}

TEST_F(TrendsAccept, ListsAndUndoes) {
  EXPECT_EQ(accepted(), "no accepted changes\n");
  ASSERT_EQ(accept({kGrown, "--reason", "a cache", "--who", "ada"}).end.exit_code, 0);
  EXPECT_EQ(trends().end.exit_code, 1) << "the other case is open";
  EXPECT_THAT(accepted(), AllOf(HasSubstr("ada"), HasSubstr(kGrown), HasSubstr("a cache")));
  EXPECT_EQ(accept({"--undo", "no/*"}).end.exit_code, 2);
  const Answer undone = accept({"--undo", "--commit", "feedface"});
  EXPECT_EQ(undone.end.exit_code, 0) << undone.errors;
  EXPECT_THAT(undone.errors, HasSubstr(std::string("no longer accepted: ") + kGrown));
  EXPECT_EQ(accepted(), "no accepted changes\n");
}

TEST_F(TrendsAccept, WrongUsageChangesNothing) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--reason", "x"},
                                                {"fake/*"},
                                                {"--undo"},
                                                {"--list", "fake/*"},
                                                {"fake/*", "--undo", "--reason", "x"},
                                                {"--finding", "000000000000", "--reason", "x"},
                                                {"--finding", "abc", "--reason", "x"},
                                                {"fake/*", "--from", "run-3", "--reason", "x"}}) {
    EXPECT_EQ(accept(words).end.exit_code, 2) << words[0];
  }
  EXPECT_EQ(accepted(), "no accepted changes\n");
}

TEST_F(TrendsAccept, GrowthMayBeAllowed) {
  const Answer allowed = trends({"--allow-growth", "256"});
  EXPECT_EQ(allowed.end.exit_code, 0) << allowed.errors;
  EXPECT_THAT(allowed.output,
              AllOf(StartsWith("nothing to do"), HasSubstr("allowed growth: 256 (--allow-growth)\n"),
                    HasSubstr("2 figures grew within the allowed growth: ")));
  const Json json = Json::parse(trends({"--allow-growth", "256", "--json"}).output);
  EXPECT_EQ(json.at("allow_growth"), "256");
  EXPECT_EQ(json.at("allowed_growth").size(), 2U);
  EXPECT_EQ(trends({"--allow-growth", "255"}).end.exit_code, 1);
  EXPECT_THAT(trends({"--allow-growth", "a lot"}).errors, HasSubstr("--allow-growth: "));
}

}  // namespace
}  // namespace peakmark
