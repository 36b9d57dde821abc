// Tests of `peakmark history` with the whole program, on a SQLite file.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/history_command_testing.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Json = nlohmann::ordered_json;

class HistoryCommand : public HistoryTest {
 protected:
  Answer history(std::vector<std::string> words) const { return on_history("history", std::move(words)); }
};

TEST_F(HistoryCommand, AddsListsAndExports) {
  const Answer added = history({"add", run_file_.string()});
  EXPECT_EQ(added.end.exit_code, 0) << added.errors;
  EXPECT_THAT(added.errors, AllOf(HasSubstr("added, 2 cases: run 1 of 'dry' (dry); no baseline yet")));
  const Answer again = history({"add", run_file_.string(), "--json"});
  EXPECT_EQ(again.end.exit_code, 0);
  EXPECT_EQ(Json::parse(again.output).at("runs").at(0).at("was_there"), true);

  const Json log = Json::parse(history({"log", "--json"}).output);
  EXPECT_EQ(log.at("count"), 1);
  EXPECT_EQ(log.at("runs").at(0).at("cases"), 2);
  EXPECT_THAT(history({"log"}).output, AllOf(HasSubstr("fake"), HasSubstr("\n1 run\n")));

  const Answer csv = history({"export"});
  EXPECT_THAT(csv.output, AllOf(StartsWith("time,commit,run,fake/case/dry "),
                                HasSubstr("fake/case/dry/n:2 requested_peak_bytes\n")));
  EXPECT_THAT(history({"export", "--format", "jsonl"}).output, HasSubstr("\"outcome\":\"ok\""));
  EXPECT_THAT(history({"export", "--format", "series"}).output, StartsWith("{\"runs\":["));
  const std::string run_again = folder_.path() / "again.json";
  EXPECT_EQ(history({"export", "--format", "run", "-o", run_again}).end.exit_code, 0);
  EXPECT_EQ(peakmark({"check", run_again}).output, peakmark({"check", run_file_.string()}).output);
  EXPECT_EQ(history({"add", run_file_.string()}).end.exit_code, 0);
}

TEST_F(HistoryCommand, ARenamedDeviceIsExportedUnderBothNames) {
  ASSERT_EQ(history({"add", run_file_.string()}).end.exit_code, 0);
  peakmark::Run later = read_run(run_file_);
  later.context.id = "later";
  later.context.device = "dry 0";
  const std::string file = folder_.path() / "later.json";
  write_run(later, file);
  ASSERT_EQ(history({"add", file}).end.exit_code, 0);
  ASSERT_EQ(history({"rename-device", "dry 0", "dry"}).end.exit_code, 0);
  for (const std::string name : {"dry", "dry 0"}) {
    const Answer run = history({"export", "--format", "run", "--device", name});
    EXPECT_THAT(run.output, HasSubstr("\"later\"")) << name << run.errors;
    EXPECT_THAT(history({"export", "--device", name}).output, HasSubstr(",later,")) << name;
  }
  EXPECT_EQ(history({"export", "--format", "run", "--device", "GPU"}).output, "");
}

TEST_F(HistoryCommand, RemovesWrongRuns) {
  ASSERT_EQ(history({"add", run_file_.string()}).end.exit_code, 0);
  peakmark::Run run = read_run(run_file_);
  const std::string id = run.context.id;
  run.context.id = "wrong";
  run.context.commit = "1a2b3c4d5e6f7081";
  write_run(run, run_file_);
  ASSERT_EQ(history({"add", run_file_.string()}).end.exit_code, 0);
  const Answer unknown = history({"remove", "wrng"});
  EXPECT_EQ(unknown.end.exit_code, 2);
  EXPECT_THAT(unknown.errors, HasSubstr("no run 'wrng'; nearest: wrong, " + id + "; nothing was removed"));
  const Answer dry = history({"remove", "wrong", "--dry-run", "--json"});
  EXPECT_EQ(Json::parse(dry.output).at("runs").at(0).at("run"), "wrong");
  const Answer removed = history({"remove", "wrong"});
  EXPECT_EQ(removed.end.exit_code, 0) << removed.errors;
  EXPECT_EQ(removed.output, "removed wrong: " + run.context.date + ", suite " + run.context.suite +
                                " on 'dry' (dry), commit 1a2b3c4d5e6f, 2 cases\n");
  EXPECT_EQ(Json::parse(history({"log", "--json"}).output).at("runs").size(), 1U);
}

TEST_F(HistoryCommand, ADateLaterThanTomorrowIsRefused) {
  peakmark::Run run = read_run(run_file_);
  run.context.date = "2999-01-01T00:00:00Z";
  write_run(run, run_file_);
  const Answer answer = history({"add", run_file_.string()});
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_THAT(answer.errors,
              HasSubstr(run_file_.string() + ": not added: dated 2999-01-01T00:00:00Z, later"));
}

TEST_F(HistoryCommand, SeveralRunsAreAddedInTheOrderOfTheirDates) {
  std::vector<std::string> words{"add"};
  for (const int day : {3, 1, 2}) {
    peakmark::Run run = read_run(run_file_);
    run.context.id = fmt::format("run-{}", day);
    run.context.date = fmt::format("2026-01-0{}T02:00:00Z", day);
    words.push_back(folder_.path() / fmt::format("{}.json", day));
    write_run(run, words.back());
  }
  const Json added = Json::parse(history({words[0], words[1], words[2], words[3], "--json"}).output);
  std::vector<std::string> ids;
  for (const Json& one : added.at("runs")) ids.push_back(one.at("run"));
  EXPECT_THAT(ids, testing::ElementsAre("run-1", "run-2", "run-3"));
}

TEST_F(HistoryCommand, PrunesByAge) {
  ASSERT_EQ(history({"add", run_file_.string()}).end.exit_code, 0);
  EXPECT_THAT(history({"prune", "--older-than", "0"}).errors, HasSubstr("removed 0 runs from before"));
  EXPECT_EQ(history({"prune"}).end.exit_code, 2);
  EXPECT_EQ(history({"prune", "--before", "yesterday"}).end.exit_code, 2);
  EXPECT_THAT(history({"prune", "--before", "2020-01-31", "--dry-run"}).errors,
              HasSubstr("would remove 0 runs from before 2020-01-31T00:00:00Z"));
}

TEST_F(HistoryCommand, TheEnvironmentNamesTheHistory) {
  const Answer none = peakmark({"history", "log"});
  EXPECT_EQ(none.end.exit_code, 2);
  EXPECT_THAT(none.errors, AllOf(HasSubstr("--history"), HasSubstr("PEAKMARK_HISTORY")));
  environment_.push_back("PEAKMARK_HISTORY=" + file_);
  EXPECT_EQ(peakmark({"history", "add", run_file_.string()}).end.exit_code, 0);
  EXPECT_THAT(peakmark({"history", "log"}).output, HasSubstr("1 run\n"));
}

TEST_F(HistoryCommand, WhatCannotBeTakenIsNamed) {
  const Answer missing = history({"log"});
  EXPECT_EQ(missing.end.exit_code, 2);
  EXPECT_THAT(missing.errors, AllOf(HasSubstr(file_), HasSubstr("no history here")));
  peakmark::Run run = read_run(run_file_);
  run.context.complete = false;
  write_run(run, run_file_);
  const Answer refused = history({"add", run_file_.string()});
  EXPECT_EQ(refused.end.exit_code, 2);
  EXPECT_THAT(refused.errors, AllOf(HasSubstr(run_file_.string() + ": not added: incomplete run"),
                                    HasSubstr("--resume"), Not(HasSubstr("unexpected"))));
  const Answer unreachable =
      peakmark({"history", "log", "--history", "postgresql:///x?host=/none&password=secret"});
  EXPECT_EQ(unreachable.end.exit_code, 2);
  EXPECT_THAT(unreachable.errors, Not(HasSubstr("secret")));
  EXPECT_EQ(history({"export", "--format", "xml"}).end.exit_code, 2);
  EXPECT_EQ(history({"export", "--otava", "x.yaml"}).end.exit_code, 2);
}

// On a full disk or quota, the history and the run stay as they were.
TEST_F(HistoryCommand, AFullDiskKeepsTheHistoryAndTheRun) {
  ASSERT_EQ(history({"add", run_file_.string()}).end.exit_code, 0);
  peakmark::Run later = read_run(run_file_);
  later.context.id = "later";
  later.context.environment["kernel"] = std::string(100'000, 'x');
  const std::string file = folder_.path() / "later.json";
  write_run(later, file);
  const auto before = std::filesystem::file_size(file_);
  const std::string run_before = read_text_file(file);
  {
    const FullDisk full(static_cast<rlim_t>(before) + 8192);
    const Answer answer = history({"add", file});
    EXPECT_EQ(answer.end.exit_code, 2);
    EXPECT_THAT(answer.errors, AllOf(HasSubstr(file_), HasSubstr("full"), HasSubstr("nothing was changed")));
  }
  EXPECT_EQ(read_text_file(file), run_before);
  EXPECT_THAT(history({"log"}).output, HasSubstr("\n1 run\n"));
  EXPECT_EQ(history({"add", file}).end.exit_code, 0);
  EXPECT_THAT(history({"log"}).output, HasSubstr("\n2 runs\n"));
}

TEST_F(HistoryCommand, ADatabaseThatDoesNotAnswerKeepsTheRunAndSaysHowToAddIt) {
  const std::string url = "postgresql://ada:secret@localhost/x?host=/none";
  const Answer answer = peakmark({"history", "add", run_file_.string(), "--branch", "pull/12",
                                  "--base-branch", "main", "--retry", "0.001", "--history", url});
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_THAT(answer.errors,
              AllOf(HasSubstr("; trying again in 1 ms\n"),
                    HasSubstr("not added: 1 run; the files are complete. When the database answers, add "
                              "them with\n  peakmark history add " +
                              run_file_.string() + " --branch pull/12 --base-branch main --history "),
                    Not(HasSubstr("secret"))));
  EXPECT_EQ(read_run(run_file_).observations.size(), 2U);
  // Runs the command from the message, with the database that answers now.
  EXPECT_EQ(
      history({"add", run_file_.string(), "--branch", "pull/12", "--base-branch", "main"}).end.exit_code, 0);
}

}  // namespace
}  // namespace peakmark
