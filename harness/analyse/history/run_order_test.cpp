#include "analyse/history/run_order.hpp"

#include <gmock/gmock.h>

#include <string>

namespace peakmark::history {
namespace {

using testing::ElementsAre;

std::vector<std::int64_t> ordered(const std::vector<RunPlace>& places) {
  std::vector<std::int64_t> numbers;
  for (const std::size_t index : run_order(places)) numbers.push_back(places.at(index).number);
  return numbers;
}

std::string commit(int number) {
  return std::string(39, 'a') + std::to_string(number);
}

TEST(RunOrder, IsThatOfArrival) {
  EXPECT_THAT(ordered({}), ElementsAre());
  EXPECT_THAT(ordered({{1, {}}, {2, {}}, {5, {}}}), ElementsAre(1, 2, 5));
}

TEST(RunOrder, APlacedRunIsBeforeTheOther) {
  EXPECT_THAT(ordered({{1, {}}, {2, {}}, {3, 2}, {4, {}}}), ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(ordered({{1, {}}, {2, {}}, {3, 2}, {4, 2}, {5, 3}}), ElementsAre(1, 5, 3, 4, 2));
}

TEST(RunOrder, ARunBeforeAnotherThatArrivedLaterIsThere) {
  EXPECT_THAT(ordered({{1, {}}, {3, 5}, {4, {}}, {5, {}}}), ElementsAre(1, 4, 3, 5));
}

TEST(RunOrder, WithoutTheOtherRunItIsThatOfArrival) {
  EXPECT_THAT(ordered({{1, {}}, {3, 2}, {4, {}}}), ElementsAre(1, 3, 4));
}

TEST(RunOrder, ManyRunsOnePlacedBeforeTheOther) {
  std::vector<RunPlace> places{{1, {}}};
  for (std::int64_t number = 2; number <= 100'000; ++number) places.push_back({number, number - 1});
  const std::vector<std::int64_t> numbers = ordered(places);
  EXPECT_EQ(numbers.front(), 100'000);
  EXPECT_EQ(numbers.back(), 1);
}

TEST(FirstDescendant, IsTheFirstRunOfANewerCommit) {
  const std::vector<std::string> parents{commit(5), commit(4), commit(3), commit(2), commit(1)};
  EXPECT_EQ(first_descendant({commit(1), commit(3), commit(5)}, commit(2), parents), 1U);
  EXPECT_EQ(first_descendant({commit(1), commit(3), commit(5)}, commit(1), parents), 1U);
  EXPECT_EQ(first_descendant({commit(1), commit(3) + "+", commit(5)}, commit(2) + "+", parents), 1U);
  EXPECT_EQ(first_descendant({commit(1), "", commit(5)}, commit(3).substr(0, 39), parents), std::nullopt)
      << "this beginning is that of every commit";
}

TEST(FirstDescendant, IsUnknownWithoutCommits) {
  const std::vector<std::string> parents{commit(5), commit(4)};
  EXPECT_EQ(first_descendant({commit(4), commit(5)}, commit(5), parents), std::nullopt) << "the newest";
  EXPECT_EQ(first_descendant({commit(4), commit(5)}, commit(9), parents), std::nullopt) << "rewritten";
  EXPECT_EQ(first_descendant({commit(4), commit(5)}, "", parents), std::nullopt);
  EXPECT_EQ(first_descendant({commit(4), commit(5)}, commit(4), {}), std::nullopt);
}

}  // namespace
}  // namespace peakmark::history
