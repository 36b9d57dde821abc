#include "measure/runfile/case_pairs.hpp"

#include <gmock/gmock.h>

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

Observation observation(const std::string& name, const std::string& variant, Parameters axes) {
  Observation one;
  one.case_name = name;
  one.variant = variant;
  one.backend = "opencl";
  one.axes = std::move(axes);
  return one;
}

Parameters axes(Size n, const std::string& mode = "edge") {
  return Parameters({{"n", n}, {"mode", mode}});
}

TEST(CasePairs, AreOfTheSameWork) {
  const Observation a = observation("pad/old/opencl/n:1", "pad/old", axes(1));
  const Observation b = observation("pad/old/opencl/n:2", "pad/old", axes(2));
  const Observation c = observation("pad/old/opencl/n:3", "pad/old", axes(3));
  const CasePairs pairs = pair_cases({&a, &b}, {&c, &b}, PairBy::variant_and_axes);
  EXPECT_THAT(pairs.pairs, ElementsAre(Pair(1, 1)));
  EXPECT_THAT(pairs.only_base, ElementsAre(0));
  EXPECT_THAT(pairs.only_new, ElementsAre(0));
}

TEST(CasePairs, OfTwoVariantsHaveTheSameAxes) {
  const Observation a = observation("pad/old/opencl/n:1", "pad/old", axes(1));
  const Observation b = observation("pad/new/opencl/n:1", "pad/new", axes(1));
  EXPECT_THAT(pair_cases({&a}, {&b}, PairBy::axes).pairs, ElementsAre(Pair(0, 0)));
  EXPECT_THAT(pair_cases({&a}, {&b}, PairBy::variant_and_axes).pairs, IsEmpty());
}

TEST(CasePairs, ADefaultThatChangedRenamesACaseAndNotItsWork) {
  // n was 20 by default and is now 30, so the name without n belongs to another case.
  const Observation before20 = observation("pad/old/opencl", "pad/old", axes(20));
  const Observation before30 = observation("pad/old/opencl/n:30", "pad/old", axes(30));
  const Observation after20 = observation("pad/old/opencl/n:20", "pad/old", axes(20));
  const Observation after30 = observation("pad/old/opencl", "pad/old", axes(30));
  const CasePairs pairs = pair_cases({&before20, &before30}, {&after20, &after30}, PairBy::variant_and_axes);
  EXPECT_THAT(pairs.pairs, ElementsAre(Pair(0, 0), Pair(1, 1)));
  const CasePairs alone = pair_cases({&before20}, {&after30}, PairBy::variant_and_axes);
  EXPECT_THAT(alone.pairs, IsEmpty()) << "one name, and other work";
}

TEST(CasePairs, ANewAxisAtItsDefaultKeepsTheName) {
  const Observation before = observation("pad/old/opencl/n:1", "pad/old", axes(1));
  const Observation after =
      observation("pad/old/opencl/n:1", "pad/old",
                  Parameters({{"n", Size{1}}, {"mode", std::string("edge")}, {"chunk", Size{0}}}));
  EXPECT_THAT(pair_cases({&before}, {&after}, PairBy::variant_and_axes).pairs, ElementsAre(Pair(0, 0)));
}

TEST(CasePairs, AnotherBackendIsOtherWork) {
  const Observation a = observation("pad/old/opencl/n:1", "pad/old", axes(1));
  Observation b = observation("pad/old/dry/n:1", "pad/old", axes(1));
  b.backend = "dry";
  EXPECT_THAT(pair_cases({&a}, {&b}, PairBy::variant_and_axes).pairs, IsEmpty());
}

TEST(OfWorker, TakesTheTextOfTheWorkerWithTheVariantsLabel) {
  const std::string both = "old=4f2, new=77a+";
  EXPECT_EQ(of_worker(both, "sum/fast.old"), "4f2");
  EXPECT_EQ(of_worker(both, "sum/fast.new"), "77a+");
  EXPECT_EQ(of_worker(both, "sum/fast.third"), both);
  EXPECT_EQ(of_worker("4f2", "sum/fast.old"), "4f2");
  EXPECT_EQ(of_worker("", "sum/fast"), "");
}

TEST(CasePairs, AreOfOneVersionUnlessTwoVariantsAreCompared) {
  Observation before = observation("pad/old/opencl/n:1", "pad/old", axes(1));
  Observation after = before;
  after.version = 2;
  const CasePairs pairs = pair_cases({&before}, {&after}, PairBy::variant_and_axes);
  EXPECT_THAT(pairs.pairs, IsEmpty());
  EXPECT_THAT(pairs.only_base, ElementsAre(0));
  EXPECT_THAT(pairs.only_new, ElementsAre(0));
  after.variant = "pad/new";
  after.case_name = "pad/new/opencl/n:1";
  EXPECT_THAT(pair_cases({&before}, {&after}, PairBy::axes).pairs, ElementsAre(Pair(0, 0)));
}

}  // namespace
}  // namespace peakmark
