#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.hpp"
#include "sweep/suite.hpp"

namespace peakmark {
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
    EXPECT_THAT([&] { (void)parse_shard(text); }, ThrowsMessage<UsageError>(HasSubstr("is no shard")))
        << text;
  }
}

TEST(Shard, PartsHoldEveryCaseOnceAndDifferByOneAtMost) {
  for (int count : {1, 2, 3, 7, 50}) {
    std::multiset<std::string> seen;
    for (int index = 1; index <= count; ++index) {
      const auto part = shard_of(cases(20), {index, count});
      EXPECT_GE(static_cast<int>(part.size()), 20 / count);
      EXPECT_LE(static_cast<int>(part.size()), 20 / count + 1);
      for (const PlannedCase& planned : part) seen.insert(planned.name);
    }
    EXPECT_EQ(seen.size(), 20u);
    EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), 20u);
  }
  EXPECT_EQ(shard_of(cases(5), {2, 2})[1].name, "3");
  EXPECT_THROW((void)shard_of(cases(5), {3, 2}), UsageError);
}

}  // namespace
}  // namespace peakmark
