#include "measure/compare/moved_allocations.hpp"

#include <gmock/gmock.h>

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(MovedAllocations, OfEqualPeaksAreNone) {
  const std::vector<PeakEntry> entries{{"input", "buffer", 8}, {"input", "buffer", 8}, {"", "image", 4}};
  EXPECT_THAT(moved_allocations(entries, {entries.rbegin(), entries.rend()}), IsEmpty());
}

TEST(MovedAllocations, NameWhatCameWentAndGrew) {
  const std::vector<PeakEntry> base{{"plan", "buffer", 2000}, {"old", "buffer", 100}, {"input", "buffer", 8}};
  const std::vector<PeakEntry> next{
      {"plan", "buffer", 2256}, {"cache", "buffer", 256}, {"input", "buffer", 8}};
  const std::vector<MovedAllocations> moved = moved_allocations(base, next);
  EXPECT_THAT(moved, ElementsAre(MovedAllocations{"cache", "buffer", std::nullopt, 256, 1},
                                 MovedAllocations{"plan", "buffer", 2000, 2256, 1},
                                 MovedAllocations{"old", "buffer", 100, std::nullopt, 1}));
  EXPECT_EQ(in_words(moved[0]), "added: cache (buffer), 256 B");
  EXPECT_EQ(in_words(moved[1]), "grew: plan (buffer), 2000 -> 2256 B");
  EXPECT_EQ(in_words(moved[2]), "removed: old (buffer), 100 B");
}

TEST(MovedAllocations, AlikeAreCounted) {
  const std::vector<PeakEntry> base{{"t", "buffer", 10}};
  const std::vector<PeakEntry> next{{"t", "buffer", 10}, {"t", "buffer", 10}, {"t", "buffer", 10}};
  const std::vector<MovedAllocations> moved = moved_allocations(base, next);
  EXPECT_THAT(moved, ElementsAre(MovedAllocations{"t", "buffer", std::nullopt, 10, 2}));
  EXPECT_EQ(in_words(moved[0]), "added: t (buffer), 2 × 10 B");
}

TEST(MovedAllocations, LargeSizesHaveUnits) {
  EXPECT_EQ(in_words({"a", "buffer", std::nullopt, 5 << 20, 2}), "added: a (buffer), 2 × 5242880 B (5 MiB)");
  EXPECT_EQ(in_words({"a", "buffer", 5 << 20, std::nullopt, 1}), "removed: a (buffer), 5242880 B (5 MiB)");
  EXPECT_EQ(in_words({"a", "buffer", (5 << 20) - 1, 5 << 20, 1}),
            "grew: a (buffer), 5242879 -> 5242880 B (5 MiB -> 5 MiB +1 B)");
}

TEST(MovedAllocations, AnotherKindIsAnotherAllocation) {
  const std::vector<MovedAllocations> moved = moved_allocations({{"", "buffer", 10}}, {{"", "image", 10}});
  EXPECT_THAT(moved, ElementsAre(MovedAllocations{"", "buffer", 10, std::nullopt, 1},
                                 MovedAllocations{"", "image", std::nullopt, 10, 1}));
  EXPECT_EQ(in_words(moved[0]), "removed: (unnamed) (buffer), 10 B");
}

}  // namespace
}  // namespace peakmark
