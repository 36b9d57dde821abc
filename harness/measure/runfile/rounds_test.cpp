#include "measure/runfile/rounds.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "measure/runfile/sample_run.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

std::vector<std::string> names_of(const std::vector<PlannedCase>& cases) {
  std::vector<std::string> names;
  for (const PlannedCase& planned : cases) names.push_back(planned.name);
  return names;
}

/// The cases a, b and c are planned in three rounds per pass, and nothing is measured yet.
peakmark::Run run_of_rounds(bool two_passes = false) {
  peakmark::Run run = example_run();
  run.observations.clear();
  PlannedCase planned = run.context.planned.front();
  run.context.planned.clear();
  for (const char* name : {"a", "b", "c"}) {
    planned.name = name;
    run.context.planned.push_back(planned);
  }
  run.context.rounds = Rounds{"job", 3, 7, std::nullopt, two_passes, std::nullopt};
  return run;
}

Observation timed(const std::string& name, std::vector<double> samples, int round) {
  Observation observation = example_observation(name);
  observation.outcome = Outcome::ok;
  observation.gpu_time = summarise_blocks({std::move(samples)});
  return as_round(observation, round);
}

TEST(InOrderOfRound, ShufflesAlikeEverywhereAndAnewEachRound) {
  std::vector<PlannedCase> cases;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
    cases.emplace_back().name = name;
  }
  // The expected order is written here, because another library or compiler must shuffle in the same way.
  EXPECT_THAT(names_of(in_order_of_round(cases, 7, 1)), ElementsAre("g", "d", "c", "e", "a", "h", "b", "f"));
  EXPECT_NE(names_of(in_order_of_round(cases, 7, 2)), names_of(in_order_of_round(cases, 7, 1)));
  EXPECT_NE(names_of(in_order_of_round(cases, 8, 1)), names_of(in_order_of_round(cases, 7, 1)));
}

TEST(InOrderOfRound, PutsEachCaseInEachPlace) {
  const std::vector<PlannedCase> cases = run_of_rounds().context.planned;
  int first[3] = {};
  for (int round = 1; round <= 3000; ++round) {
    ++first[in_order_of_round(cases, 1, round).front().name.front() - 'a'];
  }
  for (const int count : first) EXPECT_NEAR(count, 1000, 100);
}

TEST(AsRound, MakesOneBlockOfAll) {
  Observation observation = example_observation("a");
  observation.gpu_time = summarise_blocks({{100, 90}, {130}});
  const Observation round = as_round(observation, 4);
  EXPECT_THAT(round.gpu_time->blocks, ElementsAre(ElementsAre(100, 90, 130)));
  EXPECT_THAT(*round.gpu_time->rounds, ElementsAre(4));
}

TEST(AddRound, KeepsBytesAndAddsBlocks) {
  Observation known = timed("a", {100, 102, 104}, 1);
  Observation later = timed("a", {200}, 2);
  later.requested_peak_bytes.reset();
  add_round(known, later);
  EXPECT_EQ(known.requested_peak_bytes, Size{1} << 40);
  EXPECT_THAT(known.gpu_time->blocks, ElementsAre(ElementsAre(100, 102, 104), ElementsAre(200)));
  EXPECT_THAT(*known.gpu_time->rounds, ElementsAre(1, 2));
  EXPECT_EQ(known.gpu_time->median_ns, 103);
  EXPECT_EQ(known.gpu_time->max_ns, 200);
}

TEST(AddRound, AFailureInAnyRoundIsOne) {
  Observation known = timed("a", {100}, 1);
  Observation later = example_observation("a");
  later.outcome = Outcome::timeout;
  later.message = "no result";
  later.gpu_time.reset();
  add_round(known, later);
  EXPECT_EQ(known.outcome, Outcome::timeout);
  EXPECT_EQ(known.message, "no result (in a later round)");
  EXPECT_THAT(known.gpu_time->blocks, SizeIs(1));
}

TEST(LeftInRound, IsWhatHasNoBlockOfIt) {
  peakmark::Run run = run_of_rounds();
  EXPECT_THAT(names_of(left_in_round(run, 1)), ElementsAre("a", "b", "c"));
  run.observations = {timed("a", {1}, 1), timed("b", {1}, 1), timed("c", {1}, 1)};
  EXPECT_THAT(left_in_round(run, 1), IsEmpty());
  EXPECT_THAT(names_of(left_in_round(run, 2)), ElementsAre("a", "b", "c"));
  add_round(run.observations[1], timed("b", {1}, 2));
  EXPECT_THAT(names_of(left_in_round(run, 2)), ElementsAre("a", "c"));
}

TEST(LeftInRound, WhatFailedOrHasNoTimeIsThrough) {
  peakmark::Run run = run_of_rounds();
  run.observations = {timed("a", {1}, 1), timed("b", {1}, 1), timed("c", {1}, 1)};
  run.observations[0].outcome = Outcome::crashed;
  run.observations[1].gpu_time.reset();
  EXPECT_THAT(names_of(left_in_round(run, 2)), ElementsAre("c"));
}

TEST(LeftInRound, TheConfirmationIsOfItsCandidates) {
  peakmark::Run run = run_of_rounds(true);
  run.observations = {timed("a", {1}, 1), timed("b", {1}, 1)};
  EXPECT_THAT(left_in_round(run, 4), IsEmpty()) << "nobody is chosen yet";
  run.context.rounds->confirmation_pass = {"b", "c"};
  EXPECT_THAT(names_of(left_in_round(run, 4)), ElementsAre("b"));
}

TEST(RoundsAreThrough, WhenEveryPassIs) {
  peakmark::Run run = run_of_rounds(true);
  for (const char* name : {"a", "b", "c"}) {
    run.observations.push_back(timed(name, {1}, 1));
    for (const int round : {2, 3}) add_round(run.observations.back(), timed(name, {1}, round));
  }
  EXPECT_FALSE(has_all_rounds(run)) << "the confirmation pass has no cases yet";
  run.context.rounds->confirmation_pass.emplace();
  EXPECT_TRUE(has_all_rounds(run)) << "nobody needs one";
  run.context.rounds->confirmation_pass = {"b"};
  EXPECT_FALSE(has_all_rounds(run));
  for (const int round : {4, 5, 6}) add_round(run.observations[1], timed("b", {1}, round));
  EXPECT_TRUE(has_all_rounds(run));
}

TEST(BlockMedians, AreOfTheRequestedPass) {
  Observation observation = timed("a", {1, 2, 30}, 1);
  add_round(observation, timed("a", {4}, 3));
  add_round(observation, timed("a", {50}, 4));
  const Rounds rounds = *run_of_rounds(true).context.rounds;
  EXPECT_THAT(block_medians(observation, rounds, 1), ElementsAre(2, 4));
  EXPECT_THAT(block_medians(observation, rounds, 2), ElementsAre(50));
  EXPECT_THAT(block_medians(observation, std::nullopt, 1), ElementsAre(2, 4, 50));
  observation.gpu_time.reset();
  EXPECT_THAT(block_medians(observation, rounds, 1), IsEmpty());
}

Observation cold_round(int round, double cold_ns, double hot_ns, std::int64_t throttled) {
  Observation one;
  one.case_name = "a/b";
  one.cache = cache_state::cold;
  one.gpu_time = summarise_blocks({{cold_ns}});
  one.gpu_time_hot = summarise_blocks({{hot_ns}});
  one.throttled_blocks = throttled;
  return as_round(one, round);
}

TEST(Rounds, HotTimesAndThrottledBlocksAreAddedToo) {
  Observation known = cold_round(1, 100, 70, 1);
  add_round(known, cold_round(2, 110, 75, 2));
  EXPECT_EQ(known.gpu_time->blocks, (std::vector<std::vector<double>>{{100}, {110}}));
  EXPECT_EQ(known.gpu_time_hot->blocks, (std::vector<std::vector<double>>{{70}, {75}}));
  EXPECT_EQ(known.gpu_time_hot->rounds, (std::vector<int>{1, 2}));
  EXPECT_EQ(known.throttled_blocks, 3);
}

TEST(Rounds, AHotRoundIsNotAddedToColdOnes) {
  Observation known = cold_round(1, 100, 70, 0);
  Observation hot = cold_round(2, 60, 60, 0);
  hot.cache = cache_state::hot;
  add_round(known, hot);
  EXPECT_EQ(known.gpu_time->blocks.size(), 1U);
}

}  // namespace
}  // namespace peakmark
