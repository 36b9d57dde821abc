#include "measure/runfile/outcome_level.hpp"

#include <gmock/gmock.h>

#include <vector>

#include "base/error.hpp"

namespace peakmark {
namespace {

TEST(OutcomeLevel, EachOutcomeIsWorseThanThoseBeforeIt) {
  const std::vector<Outcome> from_best{Outcome::ok,           Outcome::unsupported, Outcome::out_of_memory,
                                       Outcome::wrong_answer, Outcome::timeout,     Outcome::crashed};
  for (std::size_t before = 0; before < from_best.size(); ++before) {
    for (std::size_t after = 0; after < from_best.size(); ++after) {
      EXPECT_EQ(is_worse(level_of(from_best[before], false), level_of(from_best[after], false)),
                after > before)
          << to_string(from_best[before]) << " to " << to_string(from_best[after]);
    }
  }
}

TEST(OutcomeLevel, WhatTheSuiteExpectsIsNotWorse) {
  for (const Outcome outcome : {Outcome::unsupported, Outcome::out_of_memory, Outcome::crashed}) {
    const OutcomeLevel expected = level_of(outcome, true);
    EXPECT_EQ(to_string(expected), "as_expected");
    EXPECT_FALSE(is_worse(OutcomeLevel::ok, expected));
    EXPECT_FALSE(is_worse(expected, OutcomeLevel::ok));
    EXPECT_TRUE(is_worse(expected, level_of(outcome, false)));
  }
}

TEST(OutcomeLevel, ALostCaseIsWorseThanAnUnsupportedOne) {
  EXPECT_TRUE(is_worse(OutcomeLevel::unsupported, parse_outcome_level("lost")));
  EXPECT_FALSE(is_worse(OutcomeLevel::out_of_memory, OutcomeLevel::lost));
}

TEST(OutcomeLevel, AnIncompleteCaseIsWorseThanAWholeOne) {
  EXPECT_EQ(parse_outcome_level("incomplete"), OutcomeLevel::incomplete);
  EXPECT_TRUE(is_worse(OutcomeLevel::ok, OutcomeLevel::incomplete));
  EXPECT_TRUE(is_worse(OutcomeLevel::incomplete, OutcomeLevel::unsupported));
}

TEST(OutcomeLevel, NamesAreThoseOfOutcomes) {
  for (const Outcome outcome : {Outcome::ok, Outcome::wrong_answer, Outcome::out_of_memory, Outcome::timeout,
                                Outcome::crashed, Outcome::unsupported}) {
    EXPECT_EQ(to_string(level_of(outcome, false)), to_string(outcome));
    EXPECT_EQ(parse_outcome_level(to_string(outcome)), level_of(outcome, false));
  }
  EXPECT_THROW(parse_outcome_level("as_expected"), UsageError);
  EXPECT_THROW(parse_outcome_level("gone"), UsageError);
}

}  // namespace
}  // namespace peakmark
