#include "record/ledger/address_map.hpp"

#include <gtest/gtest.h>

#include <random>
#include <unordered_map>

namespace peakmark {
namespace {

TEST(AddressMap, AgreesWithAMapOfTheStandardLibrary) {
  std::mt19937_64 random(7);
  std::unordered_map<std::uint64_t, std::uint64_t> expected;
  AddressMap map;
  for (std::uint64_t step = 0; step < 200'000; ++step) {
    const std::uint64_t address = 64 * (1 + random() % 3000);  // few addresses: they are re-used and collide
    if (random() % 2 == 0) {
      map.insert({address, step, 1, MemoryKind::buffer});
      expected[address] = step;
    } else {
      map.erase(address);
      expected.erase(address);
    }
    const std::uint64_t asked = 64 * (1 + random() % 3000);
    const auto found = expected.find(asked);
    const LiveEntry* entry = map.find(asked);
    ASSERT_EQ(entry != nullptr, found != expected.end());
    if (entry != nullptr) {
      ASSERT_EQ(entry->index, found->second);
    }
    ASSERT_EQ(map.size(), expected.size());
  }
  std::size_t visited = 0;
  map.for_each([&](const LiveEntry& entry) {
    ++visited;
    EXPECT_EQ(expected.at(entry.address), entry.index);
  });
  EXPECT_EQ(visited, expected.size());
}

}  // namespace
}  // namespace peakmark
