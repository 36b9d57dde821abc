#include "kernels/mul_add/region.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

#include "base/error.hpp"

namespace peakmark {
namespace {

const Shape kStack{4, 5, 7};

TEST(Region, WholeOfAStack) {
  EXPECT_EQ(whole_region(kStack), (Region{0, 4, 0, 0, 5, 7}));
}

TEST(Region, InsideIsAccepted) {
  EXPECT_NO_THROW(check_region({0, 4, 0, 0, 5, 7}, kStack, "dst"));
  EXPECT_NO_THROW(check_region({3, 1, 4, 6, 1, 1}, kStack, "dst"));
}

TEST(Region, EmptyIsAUsageError) {
  EXPECT_THROW(check_region({0, 0, 0, 0, 1, 1}, kStack, "dst"), UsageError);
  EXPECT_THROW(check_region({0, 1, 0, 0, 0, 1}, kStack, "dst"), UsageError);
  EXPECT_THROW(check_region({0, 1, 0, 0, 1, 0}, kStack, "dst"), UsageError);
  EXPECT_THROW(check_region({0, 1, 0, 0, -1, 1}, kStack, "dst"), UsageError);
}

TEST(Region, OutOfTheStackIsAUsageError) {
  const Size most = std::numeric_limits<Size>::max();
  for (const Region& region :
       {Region{1, 4, 0, 0, 5, 7}, Region{0, 4, 1, 0, 5, 7}, Region{0, 4, 0, 1, 5, 7},
        Region{-1, 1, 0, 0, 1, 1}, Region{0, 1, -1, 0, 1, 1}, Region{0, 1, 0, -1, 1, 1},
        Region{0, 1, most, 0, 1, 1}, Region{0, 1, 0, 1, 1, most}})
    EXPECT_THROW(check_region(region, kStack, "dst"), UsageError) << region.text();
}

TEST(Region, AMessageNamesRegionAndStack) {
  try {
    check_region({0, 1, 3, 0, 3, 1}, kStack, "other");
    FAIL() << "not thrown";
  } catch (const UsageError& error) {
    EXPECT_STREQ(
        error.what(),
        "the region of other (images 0+1, y 3+3, x 0+1) does not lie in the stack (4, 5, 7); make it "
        "smaller or move it");
  }
}

TEST(Region, UnequalSizesAreAUsageError) {
  const Region region{0, 2, 1, 1, 3, 4};
  EXPECT_NO_THROW(check_equal_size(region, {1, 2, 0, 0, 3, 4}));
  EXPECT_THROW(check_equal_size(region, {0, 1, 1, 1, 3, 4}), UsageError);
  EXPECT_THROW(check_equal_size(region, {0, 2, 1, 1, 2, 4}), UsageError);
  EXPECT_THROW(check_equal_size(region, {0, 2, 1, 1, 3, 3}), UsageError);
}

using Element = std::tuple<Size, Size, Size>;

std::set<Element> elements_of(const Region& region, Size image) {
  std::set<Element> elements;
  for (Size y = 0; y < region.h; ++y)
    for (Size x = 0; x < region.w; ++x)
      elements.insert({region.image0 + image, region.y0 + y, region.x0 + x});
  return elements;
}

bool meet(const std::set<Element>& a, const std::set<Element>& b) {
  return std::ranges::any_of(a, [&](const Element& element) { return b.contains(element); });
}

// Returns whether, in the order of the hazard, an image reads elements that an earlier one wrote.
bool reads_what_was_written(const Region& dst, const Region& other) {
  std::set<Element> written;
  for (Size i = 0; i < dst.images; ++i) {
    const Size image = other.image0 < dst.image0 ? dst.images - 1 - i : i;
    if (meet(elements_of(other, image), written)) return true;
    written.merge(elements_of(dst, image));
  }
  return false;
}

std::set<Element> all_elements_of(const Region& region) {
  std::set<Element> elements;
  for (Size image = 0; image < region.images; ++image) elements.merge(elements_of(region, image));
  return elements;
}

TEST(Hazard, OfEveryPairOfRegionsOfASmallStack) {
  int copies = 0;
  int orders = 0;
  for (Size images = 1; images <= 3; ++images)
    for (Size image0 = 0; image0 + images <= 4; ++image0)
      for (Size y0 = 0; y0 <= 3; ++y0)
        for (Size x0 = 0; x0 <= 3; ++x0) {
          const Region dst{1, images, 1, 1, 2, 2};
          const Region other{image0, images, y0, x0, 2, 2};
          switch (hazard_in_one_array(dst, other)) {
            case Hazard::none:
              EXPECT_TRUE(dst == other || !meet(all_elements_of(dst), all_elements_of(other)))
                  << other.text();
              break;
            case Hazard::image_order:
              ++orders;
              EXPECT_FALSE(meet(elements_of(dst, 0), elements_of(other, 0))) << other.text();
              EXPECT_FALSE(reads_what_was_written(dst, other)) << other.text();
              break;
            case Hazard::copy:
              ++copies;
              EXPECT_NE(dst, other);
              EXPECT_TRUE(meet(elements_of(dst, 0), elements_of(other, 0))) << other.text();
              break;
          }
        }
  EXPECT_EQ(copies, 3 * 8);
  EXPECT_GT(orders, 0);
}

}  // namespace
}  // namespace peakmark
