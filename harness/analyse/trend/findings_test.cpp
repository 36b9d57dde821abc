#include "analyse/trend/findings.hpp"

#include <gmock/gmock.h>

#include "analyse/trend/sample_trends.hpp"

namespace peakmark::trend {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

/// An open regression of `case_name` that began with run `first`.
Change grown(const std::string& case_name, double step, std::size_t first = 3,
             std::string_view metric = metric::requested_peak_bytes) {
  Change change;
  change.case_name = case_name;
  change.metric = metric;
  change.first = change.raised = first;
  change.last_before = first - 1;
  change.before = 1000;
  change.after = 1000 + step;
  change.verdict = Verdict::regression;
  change.state = State::open;
  return change;
}

std::vector<Finding> findings_of(const std::vector<Change>& changes) {
  std::vector<const Change*> all;
  for (const Change& change : changes) all.push_back(&change);
  return find_findings(all);
}

TEST(Findings, ShapesOfOneVariantThatOneCommitMovedAreOne) {
  const std::vector<Change> changes{grown("pad/a/opencl/n:1", 10), grown("pad/a/opencl/n:2", 30),
                                    grown("pad/b/opencl/n:1", 20), grown("pad/a/opencl/n:3", 20, 5)};
  const std::vector<Finding> findings = findings_of(changes);
  ASSERT_THAT(findings, SizeIs(3));
  EXPECT_EQ(findings[0].variant, "pad/a");
  ASSERT_THAT(findings[0].changes, SizeIs(2));
  EXPECT_EQ(findings[0].worst().case_name, "pad/a/opencl/n:2") << "the largest step first";
  EXPECT_TRUE(findings[0].has_case("pad/a/opencl/n:1"));
  EXPECT_FALSE(findings[0].has_case("pad/a/opencl/n:3")) << "of another run";
}

TEST(Findings, OfEqualStepsInPercentTheLargestInBytesIsFirst) {
  std::vector<Change> changes{grown("pad/a/dry/n:1", 250), grown("pad/a/dry/n:2", 250),
                              grown("pad/a/dry/n:3", 250), grown("pad/b/dry/n:1", 250)};
  changes[1].before = 1e9;
  changes[1].after = 1.25e9;
  changes[3].before = 4e9;
  changes[3].after = 5e9;
  const std::vector<Finding> findings = findings_of(changes);
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0].worst().case_name, "pad/b/dry/n:1");
  EXPECT_EQ(findings[1].worst().case_name, "pad/a/dry/n:2");
  EXPECT_EQ(findings[1].changes[1]->case_name, "pad/a/dry/n:1") << "equal in all: by name";
}

TEST(Findings, OtherMetricsOfACaseInTheSameRunAreWithIt) {
  const std::vector<Change> changes{grown("pad/a/dry", 1, 3, metric::estimate_ratio), grown("pad/a/dry", 10),
                                    grown("pad/a/dry", 500, 3, metric::gpu_time_ns)};
  const std::vector<Finding> findings = findings_of(changes);
  ASSERT_THAT(findings, SizeIs(2)) << "times are one of their own";
  EXPECT_EQ(findings[0].worst().metric, metric::gpu_time_ns);
  EXPECT_EQ(findings[1].worst().metric, metric::requested_peak_bytes);
  ASSERT_THAT(findings[1].with_it, SizeIs(1));
  EXPECT_EQ(findings[1].with_it[0]->metric, metric::estimate_ratio);
}

TEST(Findings, TimesMayChangeSomeRunsApart) {
  std::vector<Change> changes;
  for (const std::size_t run : {30, 33, 37}) {
    changes.push_back(grown("pad/a/dry/n:" + std::to_string(run), 100, run, metric::gpu_time_ns));
  }
  const std::vector<Finding> findings = findings_of(changes);
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0].changes.size() + findings[1].changes.size(), 3U);
}

TEST(Findings, WhatIsNewOrAcceptedIsAFindingOfItsOwn) {
  std::vector<Change> changes{grown("pad/a/dry/n:1", 10), grown("pad/a/dry/n:2", 10),
                              grown("pad/a/dry/n:3", 99)};
  changes[1].is_news = true;
  changes[2].state = State::accepted;
  const std::vector<Finding> findings = findings_of(changes);
  ASSERT_THAT(findings, SizeIs(3));
  EXPECT_EQ(findings[2].worst().case_name, "pad/a/dry/n:3") << "what needs attention comes first";
  EXPECT_THAT(findings_of({}), IsEmpty());
}

TEST(Findings, VariantsWhosePeaksHaveAChangedAllocationInCommonAreOne) {
  std::vector<Change> changes{grown("pad/a/dry/n:1", 10), grown("pad/b/dry/n:1", 30),
                              grown("pad/c/dry/n:1", 20), grown("pad/d/dry/n:1", 5),
                              grown("pad/e/dry/n:1", 5),  grown("pad/a/dry/n:9", 10, 4)};
  const auto moved = [](const std::string& name) {
    return std::vector<MovedAllocations>{{name, "buffer", std::nullopt, 8, 1}};
  };
  changes[0].allocations = moved("scratch");
  changes[1].allocations = moved("table");
  changes[2].allocations = moved("scratch");
  changes[2].allocations->push_back(moved("table")[0]);
  changes[3].allocations = changes[4].allocations = moved("");
  changes[5].allocations = moved("scratch");
  const std::vector<Finding> findings = findings_of(changes);
  ASSERT_THAT(findings, SizeIs(4)) << "unnamed ones and those of another run are apart";
  EXPECT_THAT(findings[0].variants, ElementsAre("pad/b", "pad/c", "pad/a")) << "the largest step first";
  EXPECT_EQ(findings[0].variant, "pad/b");
  EXPECT_THAT(findings[0].changes, SizeIs(3));
  for (std::size_t i = 1; i < 4; ++i) EXPECT_THAT(findings[i].changes, SizeIs(1)) << i;
}

TEST(Findings, TheCommandComparesTheLastGoodWithTheFirstBadCommit) {
  DeviceHistory history = nightly_history(4);
  history.runs[2].commit = std::string(40, 'a');
  history.runs[3].commit = std::string(40, 'b');
  const std::vector<Change> changes{grown("pad/a/dry/n:1", 10), grown("pad/a/dry/n:2", 20)};
  const Finding finding = findings_of(changes).at(0);
  EXPECT_EQ(compare_command(history, finding),
            "peakmark compare nightly.toml --commits aaaaaaaaaaaa bbbbbbbbbbbb --build-command BUILD "
            "--filter '^(pad/a)/'");
  for (const std::string& commit : {std::string(), std::string(40, 'a'), std::string(40, 'b') + "+"}) {
    history.runs[3].commit = commit;
    EXPECT_EQ(compare_command(history, finding), "") << commit;
  }
}

TEST(Findings, TheCommandNamesTheFilesOfTheNewestRunOfTheSuite) {
  DeviceHistory history = nightly_history(4);
  history.runs[0].commit = std::string(40, 'a');
  history.runs[1].commit = std::string(40, 'b');
  const std::vector<Change> changes{grown("pad/a/dry/n:1", 10, 1)};
  const Finding finding = findings_of(changes).at(0);
  history.runs[1].suite_files = {{"old/nightly.toml"}};
  EXPECT_THAT(compare_command(history, finding), StartsWith("peakmark compare old/nightly.toml --commits a"));
  history.runs[2].suite_files = {{"suites/it's new.toml", "suites/b.toml"}};
  EXPECT_THAT(compare_command(history, finding),
              StartsWith(R"(peakmark compare 'suites/it'\''s new.toml' suites/b.toml --commits a)"));
  history.runs[3].suite_files = {{"other.toml"}};
  history.runs[3].suite = "other";
  EXPECT_THAT(compare_command(history, finding), HasSubstr("suites/b.toml --commits a"));
}

TEST(Findings, TheVariantIsWhatComesBeforeTheBackend) {
  EXPECT_EQ(variant_name("padding/coords1d/opencl/mode:wrap/n:24"), "padding/coords1d");
  EXPECT_EQ(variant_name("a/b/c/dry"), "a/b/c");
  EXPECT_EQ(variant_name("one/cuda/n:1"), "one");
}

TEST(Findings, WhatSomebodyAcceptedAtOnceIsOne) {
  const std::vector<Acceptance> acceptances{
      {"pad/a/dry/n:1", "gpu_time_ns", "run3", "ada", "2026-01-04", "why"},
      {"pad/a/dry/n:2", "leaked_bytes", "run3", "ada", "2026-01-04", "why"},
      {"pad/a/dry/n:3", "gpu_time_ns", "run4", "ada", "2026-01-04", "why"}};
  const std::vector<AcceptedFinding> accepted = group_acceptances(acceptances);
  ASSERT_THAT(accepted, SizeIs(2));
  EXPECT_THAT(accepted[0].acceptances, ElementsAre(&acceptances[0], &acceptances[1]));
}

}  // namespace
}  // namespace peakmark::trend
