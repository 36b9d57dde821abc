#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/error.hpp"
#include "measure/sweep/suite.hpp"

namespace peakmark {

namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Window, IsReadAndWrittenBack) {
  EXPECT_EQ(parse_window("0.8:1.0"), (Window{0.8, 1.0}));
  EXPECT_EQ(parse_window("1:1"), (Window{1, 1}));
  EXPECT_EQ(parse_window("0:2.5"), (Window{0, 2.5}));
  for (const char* text : {"0.8:1", "0.1:0.30000000000000004", "0:1e-12"}) {
    EXPECT_EQ(to_text(parse_window(text)), text);
  }
}

TEST(Window, IsRefusedWhenMalformed) {
  for (const char* text :
       {"", "0.8", ":", "0.8:", ":1", "a:b", "0.8:1:2", "-0.1:1", "0.8:inf", "nan:1", "0.8 :1"}) {
    EXPECT_THAT([&] { (void)parse_window(text); }, ThrowsMessage<UsageError>(HasSubstr("malformed window")))
        << text;
  }
  EXPECT_THAT([] { (void)parse_window("1.0:0.8"); },
              ThrowsMessage<UsageError>(HasSubstr("1 is more than 0.8")));
}

}  // namespace

namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<PlannedCase> cases(int count) {
  std::vector<PlannedCase> all(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) all[static_cast<std::size_t>(i)].name = std::to_string(i);
  return all;
}

TEST(Shard, IsReadFromText) {
  EXPECT_EQ(parse_shard("2/4").index, 2);
  EXPECT_EQ(parse_shard("2/4").count, 4);
  for (const char* text :
       {"", "2", "0/4", "5/4", "-1/4", "1/0", "a/4", "1/b", "1/4x", "1/4/2", "1/99999999999"}) {
    EXPECT_THAT([&] { (void)parse_shard(text); }, ThrowsMessage<UsageError>(HasSubstr("malformed shard")))
        << text;
  }
}

TEST(Shard, PartsHoldEveryCaseOnceAndDifferByOneAtMost) {
  for (int count : {1, 2, 3, 7, 50}) {
    std::multiset<std::string> seen;
    for (int index = 1; index <= count; ++index) {
      Shard shard{index, count};
      const auto part = select_shard(cases(20), shard);
      EXPECT_EQ(part.size() + shard.other_cases.size(), 20u);
      EXPECT_TRUE(
          std::ranges::is_sorted(shard.other_cases, {}, [](const auto& name) { return std::stoi(name); }));
      EXPECT_GE(static_cast<int>(part.size()), 20 / count);
      EXPECT_LE(static_cast<int>(part.size()), 20 / count + 1);
      for (const PlannedCase& planned : part) seen.insert(planned.name);
    }
    EXPECT_EQ(seen.size(), 20u);
    EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), 20u);
  }
  Shard second{2, 2};
  EXPECT_EQ(select_shard(cases(5), second)[1].name, "3");
  EXPECT_THAT(second.other_cases, testing::ElementsAre("0", "2", "4"));
  Shard beyond{3, 2};
  EXPECT_THROW((void)select_shard(cases(5), beyond), UsageError);
}

TEST(BalancedShard, PartsHoldEveryCaseOnceAndTakeAboutTheSameTime) {
  CaseSeconds recorded{{"0", 1000.}};
  for (int i = 1; i < 40; ++i) recorded.emplace(std::to_string(i), 10. + i % 7);
  std::multiset<std::string> seen;
  std::vector<std::size_t> sizes;
  for (int index = 1; index <= 3; ++index) {
    Shard shard{index, 3};
    const auto part = select_balanced_shard(cases(40), shard, recorded);
    double seconds = 0;
    for (std::size_t i = 0; i < part.size(); ++i) {
      EXPECT_EQ(part[i].name, std::to_string((*shard.places)[i])) << "in the order of the suite";
      seen.insert(part[i].name);
      seconds += recorded.at(part[i].name);
    }
    if (part.size() == 1) {
      EXPECT_EQ(part[0].name, "0") << "it takes longer than all others";
    } else {
      EXPECT_NEAR(seconds, 252, 16) << "no more than a case from half of the others";
    }
    sizes.push_back(part.size());
  }
  EXPECT_EQ(seen.size(), 40u);
  EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), 40u);
  EXPECT_THAT(sizes, testing::Contains(1u));
}

TEST(BalancedShard, UnknownCasesCountAsTheMean) {
  const CaseSeconds recorded{{"0", 3.}, {"1", 1.}};
  Shard first{1, 2};
  Shard second{2, 2};
  // 3 and 1 are known, and the mean is 2. Part 1 gets 0, part 2 gets 2 and then 3, and part 1 gets 1.
  (void)select_balanced_shard(cases(4), first, recorded);
  (void)select_balanced_shard(cases(4), second, recorded);
  EXPECT_THAT(*first.places, testing::ElementsAre(0, 1));
  EXPECT_THAT(*second.places, testing::ElementsAre(2, 3));
  EXPECT_THAT(second.other_cases, testing::ElementsAre("0", "1"));
}

TEST(BalancedShard, WithoutSecondsPartsDifferByOneAtMost) {
  for (const CaseSeconds& recorded : {CaseSeconds{}, CaseSeconds{{"0", 0.}, {"1", 0.}}}) {
    for (int index = 1; index <= 3; ++index) {
      Shard shard{index, 3};
      const std::size_t size = select_balanced_shard(cases(20), shard, recorded).size();
      EXPECT_GE(size, 6u);
      EXPECT_LE(size, 7u);
    }
  }
  Shard beyond{3, 2};
  EXPECT_THROW((void)select_balanced_shard(cases(5), beyond, {}), UsageError);
}

}  // namespace

}  // namespace peakmark
