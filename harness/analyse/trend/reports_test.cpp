#include "analyse/trend/reports.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>

#include "analyse/trend/sample_trends.hpp"
#include "base/text.hpp"

namespace peakmark::trend {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class TrendReports : public testing::Test {
 protected:
  TrendReports() {
    history_.device = "GPU \xff | one";
    history_.backend = "cuda";
    for (int day = 0; day < 3; ++day) {
      HistoryRun run;
      run.id = "run" + std::to_string(day);
      run.date = "2026-02-0" + std::to_string(day + 1) + "T02:00:00Z";
      run.commit = "c" + std::to_string(day);
      run.suite = "nightly";
      run.driver = day == 2 ? "551" : "550";
      history_.runs.push_back(run);
    }
    history_.series = {{"a/b/cuda", "requested_peak_bytes", {1024, 1024, 1280}, {}},
                       {"a/b/cuda", "gpu_time_ns", {5e6, 5e6, 5e6}, {}}};
    history_.outcomes = {{"a/b/cuda", {"ok", "ok", "ok"}}, {"a/gone", {"ok", std::nullopt, std::nullopt}}};
  }
  std::vector<DeviceTrends> trends() const {
    Trends found = find_trends(history_);
    std::vector<CaseStatus> statuses = find_case_statuses(history_, found, sample_read_run(history_));
    return {{&history_, std::move(found), std::move(statuses)}};
  }

  static std::string json_of(const std::vector<DeviceTrends>& devices) {
    return trends_json(devices, exit_code_of(devices, false));
  }

  DeviceHistory history_;
};

TEST_F(TrendReports, FormulasDescribeAChangeInPlaceOfItsAllocations) {
  std::vector<DeviceTrends> found = trends();
  Change& change = found.front().trends.changes.front();
  change.allocations = {{"output", "buffer", std::nullopt, 1280, 1}};
  EXPECT_THAT(trends_table(found), HasSubstr("added: output (buffer), 1280 B"));
  change.formulas = {"output (outputs): 4·n → 5·n"};
  const std::string table = trends_table(found);
  EXPECT_THAT(table, AllOf(HasSubstr("output (outputs): 4·n → 5·n"),
                           Not(HasSubstr("added: output (buffer), 1280 B"))));
  const auto json = nlohmann::json::parse(json_of(found));
  EXPECT_EQ(json.at("changes").at(0).at("formulas"), nlohmann::json({"output (outputs): 4·n → 5·n"}));
}

TEST_F(TrendReports, ACauseOfWrongEstimatesIsOneLineForAllCases) {
  std::vector<DeviceTrends> found = trends();
  const std::string cause = "missing: 4·n when nx is odd, copy";
  for (const char* const name : {"a/b/cuda/n:1", "a/b/cuda/n:2"}) {
    found.front().statuses.push_back(
        {name, CaseState::window, Judgement::fail, "window_bytes", {"peak / estimate 2.000"}, {cause}});
  }
  const std::string table = trends_table(found);
  EXPECT_THAT(table, HasSubstr("\na/b: " + cause + "\n"));
  EXPECT_EQ(table.find(cause), table.rfind(cause));
  const auto json = nlohmann::json::parse(json_of(found));
  EXPECT_EQ(json.at("cases").back().at("texts"), nlohmann::json({cause}));
}

TEST_F(TrendReports, JsonMatchesTheFormat) {
  history_.acceptances = {{"other", "", "run9", "ada", "2026-02-09T00:00:00Z", "why not"}};
  const auto json = nlohmann::json::parse(json_of(trends()));
  EXPECT_EQ(json.at("version"), 1);
  EXPECT_EQ(json.at("headline"), "1 finding: 1 regression");
  EXPECT_EQ(json.at("cases_needing_action"), 1);
  EXPECT_EQ(json.at("tally"), "2 cases: 0 pass, 1 skipped (1 left the suite), 1 fail (1 regression)");
  EXPECT_EQ(json.at("cases").at(0), nlohmann::json({{"case", "a/b/cuda"},
                                                    {"device", "GPU \uFFFD | one"},
                                                    {"backend", "cuda"},
                                                    {"state", "regression"},
                                                    {"needs_action", true},
                                                    {"judgement", "fail"},
                                                    {"reason", "regression"},
                                                    {"texts", nlohmann::json::array()}}));
  EXPECT_EQ(json.at("cases").at(1).at("state"), "left_suite");
  EXPECT_EQ(json.at("exit_code"), 1);
  EXPECT_EQ(json.at("runs"), 3);
  EXPECT_EQ(json.at("devices").at(0).at("to"), "2026-02-03T02:00:00Z");
  const auto& change = json.at("changes").at(0);
  EXPECT_EQ(change.at("case"), "a/b/cuda");
  EXPECT_EQ(change.at("metric"), "requested_peak_bytes");
  EXPECT_EQ(change.at("date"), "2026-02-03T02:00:00Z");
  EXPECT_EQ(change.at("raised"), change.at("date"));
  EXPECT_EQ(change.at("run"), "run2");
  EXPECT_EQ(change.at("commit"), "c2");
  EXPECT_EQ(change.at("commit_before"), "c1");
  EXPECT_TRUE(change.at("before").is_number_integer());
  EXPECT_EQ(change.at("after"), 1280);
  EXPECT_EQ(change.at("relative"), 0.25);
  EXPECT_EQ(change.at("verdict"), "regression");
  EXPECT_EQ(change.at("new"), true);
  EXPECT_EQ(change.at("state"), "open");
  EXPECT_EQ(change.at("evidence"), "exact");
  EXPECT_TRUE(change.at("allocations").is_null());
  EXPECT_EQ(change.at("environment"), nlohmann::json({"driver"}));
  EXPECT_EQ(change.at("levels"), "1 KiB → 1.25 KiB (+256 B)");
  EXPECT_EQ(change.at("summary"), "1 KiB → 1.25 KiB (+256 B), since 2026-02-03, commit c2");
  EXPECT_EQ(change.at("cause"), nlohmann::json::array());
  EXPECT_TRUE(change.at("resolution").is_null());
  EXPECT_EQ(json.at("not_enough_data").at(0).at("runs"), 3);
  EXPECT_EQ(json.at("left_suite").at(0).at("case"), "a/gone");
  EXPECT_EQ(json.at("left_suite").at(0).at("new"), false) << "it left a day before the last";
  EXPECT_EQ(json.at("not_compared"), nlohmann::json::array());
  EXPECT_TRUE(json.at("accepted").at(0).at("date").is_null());
  EXPECT_EQ(json.at("environment_changes").at(0).at("after"), "551");
}

TEST_F(TrendReports, TheSummaryHasLevelsCommitsAndWhyNoActionIsNeeded) {
  history_.runs[1].commit_text = {"Before", "Bob", 4};
  history_.runs[2].commit_text = {"Pad rows", "Ada", 7};
  std::vector<DeviceTrends> found = trends();
  Change& change = found.front().trends.changes.front();
  change.now = 1100;
  change.allocations = {{"output", "buffer", 1024, 1280, 1}};
  const std::string levels = "1 KiB → 1.25 KiB, now 1.074 KiB (+256 B, now +76 B)";
  const std::string since = ", since 2026-02-03, commit c2 (3 commits, the last: Pad rows, by Ada)";
  auto json = nlohmann::json::parse(json_of(found));
  EXPECT_EQ(json.at("changes").at(0).at("levels"), levels);
  EXPECT_EQ(json.at("changes").at(0).at("cause"), nlohmann::json({"grew: output (buffer), 1024 -> 1280 B"}));
  EXPECT_EQ(json.at("findings").at(0).at("summary"), levels + since);

  history_.acceptances = {{"a/b/cuda", "", "run2", "ada", "2026-02-09T00:00:00Z", "needed"}};
  change.now.reset();
  change.state = State::accepted;
  change.acceptance = 0;
  change.raised = 1;
  Change other = change;
  other.case_name = "a/b/cuda/n:2";
  other.after = 1536;
  found.front().trends.changes.push_back(other);
  json = nlohmann::json::parse(json_of(found));
  EXPECT_EQ(json.at("changes").at(0).at("resolution"), "accepted by ada on 2026-02-09: needed");
  EXPECT_EQ(json.at("findings").at(0).at("summary"),
            "+256 B to +512 B" + since + ", reported on 2026-02-02; accepted by ada on 2026-02-09: needed");
}

/// Returns the tests of a JUnit file by name.
std::map<std::string, pugi::xml_node> junit_tests(pugi::xml_document& document,
                                                  const std::vector<DeviceTrends>& devices) {
  EXPECT_TRUE(document.load_string(trends_junit(devices).c_str()));
  std::map<std::string, pugi::xml_node> tests;
  for (const pugi::xml_node test : document.child("testsuites").child("testsuite").children("testcase"))
    tests.emplace(test.attribute("name").value(), test);
  return tests;
}

TEST_F(TrendReports, JunitFailsCasesThatNeedActionAndHasWhy) {
  std::vector<DeviceTrends> found = trends();
  found.front().trends.changes.front().allocations = {{"output", "buffer", std::nullopt, 1280, 1}};
  std::vector<CaseStatus>& statuses = found.front().statuses;
  statuses.push_back(
      {"a/crash", CaseState::failed, Judgement::failed_measurement, "crashed", {"SIGSEGV\x01"}});
  statuses.push_back({"a/low",
                      CaseState::window,
                      Judgement::fail,
                      "window_bytes",
                      {"peak / estimate 2.000"},
                      {"missing: 4·n"}});
  statuses.push_back({"a/maybe", CaseState::suspicious, Judgement::warning, "suspicious", {}});
  statuses.push_back({"a/base", CaseState::as_on_base, Judgement::fail, "leak", {"64 bytes left"}});
  pugi::xml_document document;
  const auto tests = junit_tests(document, found);
  const pugi::xml_node failure = tests.at("a/b/cuda").child("failure");
  EXPECT_STREQ(failure.attribute("type").value(), "regression");
  EXPECT_THAT(failure.child_value(), AllOf(HasSubstr("requested_peak_bytes 1 KiB → 1.25 KiB"),
                                           HasSubstr("added: output (buffer), 1280 B")));
  EXPECT_STREQ(tests.at("a/b/cuda").attribute("classname").value(), "a.b");
  EXPECT_STREQ(tests.at("a/crash").child("error").attribute("message").value(), "SIGSEGV\xEF\xBF\xBD");
  EXPECT_STREQ(tests.at("a/low").child("failure").attribute("message").value(), "missing: 4·n");
  EXPECT_STREQ(tests.at("a/gone").child("skipped").attribute("message").value(), "last run on 2026-02-01");
  EXPECT_STREQ(tests.at("a/maybe").child("system-out").child_value(), "suspicious");
  EXPECT_STREQ(tests.at("a/base").child("system-out").child_value(), "as_on_base\n64 bytes left");
  const pugi::xml_node all = document.child("testsuites");
  EXPECT_EQ(all.attribute("failures").as_int(), 2);
  EXPECT_EQ(all.attribute("errors").as_int(), 1);
  EXPECT_EQ(all.attribute("skipped").as_int(), 1);
}

TEST_F(TrendReports, JunitSkipsACaseWithTooFewRunsOnlyWithoutBytes) {
  std::vector<DeviceTrends> found = trends();
  found.front().trends.changes.clear();
  history_.outcomes.push_back({"a/time/cuda", {"ok", "ok", "ok"}});
  found.front().statuses = {{"a/b/cuda", CaseState::young, Judgement::pass, "", {}},
                            {"a/time/cuda", CaseState::young, Judgement::pass, "", {}}};
  pugi::xml_document document;
  const auto tests = junit_tests(document, found);
  EXPECT_TRUE(tests.at("a/b/cuda").first_child().empty());
  EXPECT_STREQ(tests.at("a/time/cuda").child("skipped").attribute("message").value(), "not enough data");
}

TEST_F(TrendReports, JunitNamesTheDeviceIfThereAreSeveral) {
  std::vector<DeviceTrends> found = trends();
  DeviceHistory other = history_;
  other.device = "CPU";
  found.push_back({&other, found.front().trends, found.front().statuses});
  pugi::xml_document document;
  EXPECT_TRUE(junit_tests(document, found).contains("a/b/cuda on CPU (cuda)"));
}

TEST_F(TrendReports, TextReportsTheVerdictFirstAndWhy) {
  const std::string text = trends_table(trends());
  EXPECT_THAT(
      text,
      StartsWith(
          "1 finding: 1 regression; 2 cases: 0 pass, 1 skipped (1 left the suite), 1 fail (1 regression)\n"));
  EXPECT_THAT(text, HasSubstr("+256 B"));
  EXPECT_THAT(text, HasSubstr("different driver; c1..c2"));
  EXPECT_THAT(text, HasSubstr("1 case left its suite: a/gone (last run 2026-02-01)"));
  EXPECT_THAT(text, HasSubstr(" runs needed before times are judged"));
  EXPECT_THAT(text, Not(HasSubstr("\xff")));
  const std::string markdown = trends_markdown(trends());
  EXPECT_THAT(markdown, StartsWith("## 1 finding: 1 regression\n\n2 cases: 0 pass, "));
  EXPECT_THAT(markdown, HasSubstr("\\| one"));
}

TEST_F(TrendReports, TheHeadlineCountsFindingsAndNotCases) {
  for (const char* const name : {"a/b/cuda/n:1", "a/b/cuda/n:2", "a/c/cuda"})
    history_.series.push_back({name, "requested_peak_bytes", {1024, 1024, 1536}, {}});
  std::vector<DeviceTrends> found = trends();
  EXPECT_EQ(headline(found), "2 findings: 2 regressions");
  const auto add = [&](const char* name, CaseState state, const char* reason) {
    found.front().statuses.push_back({name, state, Judgement::fail, reason, {}});
  };
  add("a/d/cuda/n:1", CaseState::window, "window_bytes");
  add("a/d/cuda/n:2", CaseState::window, "window_bytes");
  add("a/e/cuda", CaseState::rule, "estimator");
  add("a/f/cuda", CaseState::rule, "leak");
  add("a/f/cuda/n:1", CaseState::failed, "crashed");
  add("a/g/cuda", CaseState::as_on_base, "leak");
  EXPECT_EQ(headline(found), "6 findings: 2 regressions, 1 failed measurement, 2 estimators, 1 failed rule");
  EXPECT_THAT(trends_table(found), StartsWith(headline(found)));
  EXPECT_THAT(trends_markdown(found), StartsWith("## " + headline(found)));
}

TEST_F(TrendReports, FindingsOfTheJsonAreTheRowsThatTheHeadlineCounts) {
  history_.series[0].values = {1024, 1280, 1024};
  history_.series.push_back({"a/c/cuda", "requested_peak_bytes", {8, 8, 9}, {}});
  history_.outcomes.insert(history_.outcomes.begin() + 1, {"a/c/cuda", {"ok", "ok", "ok"}});
  std::vector<DeviceTrends> found = trends();
  const auto status = [](const char* name, CaseState state, Judgement judgement, const char* reason) {
    return CaseStatus{name, state, judgement, reason, {std::string(name) + " why"}};
  };
  std::vector<CaseStatus>& statuses = found.front().statuses;
  statuses.push_back(status("w/v/cuda/n:1", CaseState::window, Judgement::fail, "window_bytes"));
  statuses.push_back(status("w/v/cuda/n:2", CaseState::rule, Judgement::fail, "estimator"));
  statuses.push_back(status("w/v/cuda/n:3", CaseState::rule, Judgement::fail, "leak"));
  statuses.push_back(status("w/v/cuda/n:4", CaseState::failed, Judgement::failed_measurement, "crashed"));
  statuses.push_back(status("w/v/cuda/n:5", CaseState::as_on_base, Judgement::fail, "leak"));
  statuses.push_back(status("w/v/cuda/n:6", CaseState::left_suite, Judgement::skipped, "left the suite"));
  statuses.back().is_news = true;
  const auto json = nlohmann::json::parse(json_of(found));
  EXPECT_EQ(json.at("headline"),
            "4 findings: 1 regression, 1 failed measurement, 1 estimator, 1 failed rule");
  std::vector<std::string> rows;
  for (const auto& row : json.at("findings")) {
    std::string cases;
    for (const std::string name : row.at("cases")) cases += " " + name;
    for (const std::size_t place : row.at("members")) {
      EXPECT_EQ(json.at("changes").at(place).at("case"), row.at("case"));
      EXPECT_EQ(json.at("changes").at(place).at("section"), row.at("section"));
    }
    EXPECT_EQ(row.at("members").empty(), row.at("metric").is_null());
    rows.push_back(row.at("section").get<std::string>() + " " + row.at("verdict").get<std::string>() + cases);
  }
  EXPECT_THAT(rows, testing::ElementsAre("new regression a/c/cuda", "open failed w/v/cuda/n:4",
                                         "open window w/v/cuda/n:1 w/v/cuda/n:2", "open rule w/v/cuda/n:3",
                                         "recent left_suite w/v/cuda/n:6", "recent recovery a/b/cuda",
                                         "closed regression a/b/cuda", "closed as_on_base w/v/cuda/n:5"));
}

TEST_F(TrendReports, JsonHasWhoAcceptedAChange) {
  history_.acceptances = {{"a/b/cuda", "", "run2", "ada", "2026-02-09T00:00:00Z", "needed"}};
  const auto json = nlohmann::json::parse(json_of(trends()));
  const auto& change = json.at("changes").at(0);
  EXPECT_EQ(change.at("section"), "closed");
  EXPECT_EQ(change.at("accepted"),
            nlohmann::json({{"who", "ada"}, {"when", "2026-02-09T00:00:00Z"}, {"reason", "needed"}}));
}

TEST_F(TrendReports, LevelsThatReadTheSameHaveTheDifference) {
  history_.series = {{"a/b/cuda", "requested_peak_bytes", {315'494, 315'494, 315'495}, {}}};
  for (const std::string& text : {trends_table(trends()), trends_markdown(trends())})
    EXPECT_THAT(text, HasSubstr("308.1 KiB +1 B"));
}

TEST_F(TrendReports, ACommandComparesTheTwoCommits) {
  history_.runs[2].suite = "nightly";
  EXPECT_THAT(trends_table(trends()), HasSubstr("\nto compare: peakmark compare nightly.toml --commits c1 c2 "
                                                "--build-command BUILD --filter '^(a/b)/'\n"));
  const std::string markdown = trends_markdown(trends());
  EXPECT_THAT(markdown, HasSubstr("\nTo compare: `peakmark compare nightly.toml --commits c1 c2 "));
  const auto json = nlohmann::json::parse(json_of(trends()));
  const auto& finding = json.at("findings").at(0);
  EXPECT_EQ(finding.at("compare"),
            "peakmark compare nightly.toml --commits c1 c2 --build-command BUILD --filter '^(a/b)/'");
  EXPECT_EQ(finding.at("commit_before"), "c1");
  EXPECT_EQ(finding.at("run_before"), "run1");
  EXPECT_EQ(finding.at("variants"), nlohmann::json({"a/b"}));
  EXPECT_EQ(finding.at("before"), 1024);
  EXPECT_TRUE(finding.at("commit_url").is_null());
}

TEST_F(TrendReports, CommitsAreLinkedInMarkdown) {
  history_.runs[1].commit = "abc1";
  history_.runs[2].commit = "abc2";
  std::vector<DeviceTrends> found = trends();
  found.front().commit_url = "https://example.org/{commit}";
  EXPECT_THAT(trends_markdown(found),
              HasSubstr("[abc1](https://example.org/abc1)..[abc2](https://example.org/abc2)"));
  EXPECT_THAT(trends_table(found), HasSubstr("abc1..abc2"));
  EXPECT_EQ(commit_link("https://example.org/{commit}", "abc2+"), "https://example.org/abc2");
  EXPECT_EQ(commit_link("https://example.org/{commit}", "no hash"), "");
}

TEST_F(TrendReports, TheMarkOfChangedSourcesIsShown) {
  const std::string commit(40, 'a');
  history_.runs[1].commit = commit;
  history_.runs[2].commit = commit + "+";
  EXPECT_THAT(trends_table(trends()), HasSubstr("aaaaaaaaaaaa..aaaaaaaaaaaa+"));
}

TEST_F(TrendReports, WhatIsNewSinceThePreviousRunIsMarked) {
  for (const std::string& text : {trends_table(trends()), trends_markdown(trends())}) {
    EXPECT_THAT(text, HasSubstr("regression (new)"));
    EXPECT_THAT(text, HasSubstr("a/gone (last run 2026-02-01)"));
  }
  HistoryRun run = history_.runs.back();
  run.id = "run3";
  run.date = "2026-02-04T02:00:00Z";
  history_.runs.push_back(run);
  for (Series& series : history_.series) series.values.push_back(series.values.back());
  for (CaseOutcomes& one : history_.outcomes) one.outcomes.push_back(one.outcomes.back());
  const auto json = nlohmann::json::parse(json_of(trends()));
  EXPECT_EQ(json.at("exit_code"), 1) << "it is open";
  EXPECT_EQ(json.at("changes").at(0).at("new"), false);
  for (const auto& one : json.at("left_suite")) EXPECT_EQ(one.at("new"), false) << one;
  for (const std::string& text : {trends_table(trends()), trends_markdown(trends())}) {
    EXPECT_THAT(text, HasSubstr("regression"));
    EXPECT_THAT(text, Not(HasSubstr("new)")));
  }
}

TEST_F(TrendReports, AnAcceptanceNamesWhatItIsOf) {
  history_.acceptances = {{"a/b/cuda", "gpu_time_ns", "run2", "ada", "2026-02-09T00:00:00Z", "why not"},
                          {"a/b/cuda", "", "run2", "bob", "2026-02-09T00:00:00Z", "all of it"}};
  EXPECT_THAT(trends_table(trends()),
              AllOf(HasSubstr("\naccepted: a/b/cuda, gpu_time_ns, from run run2 on, by ada: why not\n"),
                    HasSubstr("\naccepted: a/b/cuda, from run run2 on, by bob: all of it\n")));
}

TEST_F(TrendReports, WhatIsNewIsApartFromWhatIsStillOpen) {
  history_.series.push_back({"a/old/cuda/n:1", "requested_peak_bytes", {1024, 2048, 2048}, {}});
  history_.series.push_back({"a/old/cuda/n:2", "requested_peak_bytes", {1024, 4096, 4096}, {}});
  for (const std::string& text : {trends_table(trends()), trends_markdown(trends())}) {
    const std::size_t is_new = text.find("new since the previous run");
    const std::size_t is_open = text.find("still open");
    ASSERT_NE(is_open, std::string::npos) << text;
    EXPECT_LT(is_new, text.find("a/b/cuda"));
    EXPECT_LT(text.find("+256 B"), is_open);
    EXPECT_LT(is_open, text.find("a/old")) << "two cases in one row";
    EXPECT_THAT(text, HasSubstr("2 cases, largest: "));
    EXPECT_THAT(text, HasSubstr("+1024 B to +3072 B"));
    EXPECT_THAT(text, Not(HasSubstr("a/old/cuda/n:1")));
  }
}

// The largest step in percent is the first case's, which is the smallest in bytes.
TEST_F(TrendReports, StepsAreFromTheSmallestToTheLargest) {
  history_.series = {{"a/b/cuda/n:1", "requested_peak_bytes", {1000, 1000, 2000}, {}},
                     {"a/b/cuda/n:2", "requested_peak_bytes", {9000, 9000, 9500}, {}},
                     {"a/b/cuda/n:3", "requested_peak_bytes", {90000, 90000, 93000}, {}}};
  EXPECT_THAT(trends_table(trends()), HasSubstr("+500 B to +3000 B"));
}

TEST_F(TrendReports, MarkdownStaysBelowWhatASummaryMayHave) {
  const std::string name(200, 'x');
  for (int i = 0; i < 5000; ++i) {
    history_.series.push_back(
        {fmt::format("a/{}{}/cuda", name, i), "requested_peak_bytes", {1024, 1024, 1280}, {}});
  }
  const std::string markdown = trends_markdown(trends());
  EXPECT_LE(markdown.size(), kMarkdownLimit);
  EXPECT_GT(markdown.size(), 800'000U);
  EXPECT_THAT(markdown, HasSubstr(" more findings not shown (--json has all)"));
}

TEST_F(TrendReports, ThatOfABranchIsACommentOfAScreenWithAMarker) {
  history_.base_runs = {{"pull/1", "main", "my--suite >", "c2", "c1", 1, 0}};
  for (int i = 0; i < 300; ++i) {
    const std::string name = fmt::format("a/{:03}{}/cuda/n:{}", i, std::string(100, 'x'), i);
    history_.series.push_back({name, "requested_peak_bytes", {1024, 1024, 1280.0 + i}, {}});
    history_.outcomes.push_back({name, {"ok", "ok", "ok"}});
  }
  std::vector<DeviceTrends> found = trends();
  for (Change& change : found.front().trends.changes) {
    for (int i = 0; i < 100; ++i) change.formulas.push_back("output (outputs): " + std::string(100, 'y'));
  }
  const std::string markdown = trends_markdown(found);
  EXPECT_THAT(markdown,
              StartsWith("<!-- peakmark trends: my..suite.. -->\n## 301 findings: 301 regressions\n"));
  EXPECT_LE(markdown.size(), 60'000U);
  std::size_t rows = 0;
  for (std::size_t at = markdown.find("\n| regression"); at != std::string::npos;
       at = markdown.find("\n| regression", at + 1))
    ++rows;
  EXPECT_EQ(rows, 10U);
  EXPECT_THAT(markdown, AllOf(HasSubstr("\n291 more findings not shown"), HasSubstr("`a/299"),
                              HasSubstr("and 94 more (--json has all)")));
}

TEST_F(TrendReports, FindingsNameTheCommitThatBroughtThem) {
  history_.runs[1].commit_text = {"Add a table", "Ada", 40};
  history_.runs[2].commit_text = {"Pad | rows", "Bob @acme", 43};
  EXPECT_THAT(trends_table(trends()), HasSubstr("c1..c2 (3 commits, the last: Pad | rows, by Bob @acme)"));
  EXPECT_THAT(trends_markdown(trends()),
              HasSubstr("c1..c2 (3 commits, the last: Pad \\| rows, by Bob @&#8203;acme)"));
  const auto json = nlohmann::json::parse(json_of(trends()));
  for (const auto& entry : {json.at("findings").at(0), json.at("changes").at(0)}) {
    EXPECT_EQ(entry.at("commit"), "c2");
    EXPECT_EQ(entry.at("commit_subject"), "Pad | rows");
    EXPECT_EQ(entry.at("commit_author"), "Bob @acme");
    EXPECT_EQ(entry.at("commits_between"), 3);
    EXPECT_TRUE(entry.at("recovered").is_null());
  }
  history_.runs[2].commit_text.number = 41;
  EXPECT_THAT(trends_table(trends()), HasSubstr("c1..c2 (Pad | rows, by Bob @acme)"));
  history_.runs[2].commit_text = {"", "", 39};  // not a descendant
  EXPECT_THAT(trends_table(trends()), HasSubstr("c1..c2\n"));
}

TEST_F(TrendReports, AWorseOutcomeIsARegressionWithItsMessage) {
  history_.outcomes.push_back({"a/lost/cuda", {"ok", "ok", "out_of_memory"}});
  std::vector<DeviceTrends> found = trends();
  for (Change& change : found.front().trends.changes) {
    if (change.metric == metric::outcome) change.message = "clCreateBuffer: error -61";
  }
  for (const std::string& text : {trends_table(found), trends_markdown(found)})
    EXPECT_THAT(text,
                AllOf(HasSubstr("a/lost/cuda"), HasSubstr("clCreateBuffer: error -61"), HasSubstr("worse")));
  EXPECT_EQ(exit_code_of(found, false), ExitCode::verdict);
  const auto json = nlohmann::json::parse(json_of(found));
  const auto& change = json.at("changes").at(0);
  EXPECT_EQ(change.at("metric"), "outcome");
  EXPECT_EQ(change.at("before"), "ok");
  EXPECT_EQ(change.at("after"), "out_of_memory");
  EXPECT_TRUE(change.at("relative").is_null());
  EXPECT_EQ(json.at("tally"),
            "3 cases: 0 pass, 1 skipped (1 left the suite), 2 fail (1 out_of_memory, 1 regression)");
}

TEST_F(TrendReports, AFirstRunIsNotCompared) {
  EXPECT_EQ(headline({}), "nothing was compared: the history is empty");
  EXPECT_EQ(exit_code_of({}, false), ExitCode::nothing);
  history_.runs.resize(1);
  history_.series = {{"a/b/cuda", "requested_peak_bytes", {1024}, {}}};
  history_.outcomes.clear();
  const std::vector<DeviceTrends> first = trends();
  EXPECT_THAT(trends_table(first), StartsWith("nothing was compared: first run of each device"));
  EXPECT_EQ(exit_code_of(first, false), ExitCode::nothing);
  EXPECT_EQ(exit_code_of(first, true), ExitCode::clean);
  EXPECT_EQ(nlohmann::json::parse(json_of(first)).at("exit_code"), 4);
  EXPECT_EQ(nlohmann::json::parse(json_of(first)).at("not_compared").size(), 1u);
}

TEST_F(TrendReports, ABranchWithoutABaseRunIsNotCompared) {
  history_.series.clear();
  history_.base_runs = {{"pull/1", "main", "nightly", "c2", "c1", std::nullopt, std::nullopt}};
  const std::vector<DeviceTrends> found = trends();
  EXPECT_EQ(headline(found), "1 run was not compared");
  EXPECT_EQ(exit_code_of(found, false), ExitCode::nothing);
  EXPECT_EQ(exit_code_of(found, true), ExitCode::clean);
}

TEST_F(TrendReports, WithoutChangesThereIsNothingToDo) {
  history_.series[0].values = {1024, 1024, 1024};
  history_.outcomes.pop_back();
  EXPECT_EQ(headline(trends()), "nothing to do");
  EXPECT_EQ(tally(trends()), "1 case: 1 pass, 0 fail");
}

}  // namespace
}  // namespace peakmark::trend
