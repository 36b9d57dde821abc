// Writes a profile with many events, to measure how long `peakmark show` takes:
//
//     build/release/bench/large_profile large 10000000
//     time build/release/harness/cli/peakmark show large.*
//
// Up to ten thousand objects are live at a time, addresses are reused, every hundredth allocation has a name,
// and there are a hundred phases. The events are the same every time, except for their times.
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "recorders/profile_writer.hpp"

namespace {

constexpr std::size_t kLive = 10'000;
constexpr std::uint64_t kPhases = 100;

std::uint64_t take(std::vector<std::uint64_t>& from, std::mt19937_64& random) {
  std::swap(from[random() % from.size()], from.back());
  const std::uint64_t taken = from.back();
  from.pop_back();
  return taken;
}

void write(peakmark::ProfileWriter& writer, std::uint64_t events) {
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> unused;
  std::vector<std::uint64_t> live;
  for (std::uint64_t i = 0; i < 2 * kLive; ++i) unused.push_back(0x7f0000000000U + 512 * i);
  std::uint64_t phases = 0;
  while (writer.count() < events) {
    if (writer.count() >= phases * events / kPhases)
      writer.phase(("step " + std::to_string(++phases)).c_str());
    const bool allocate =
        live.empty() || (live.size() < kLive && random() % 16 != 0) || (random() % 2 == 0 && !unused.empty());
    const std::uint64_t address = take(allocate ? unused : live, random);
    if (allocate) {
      writer.allocation(address, static_cast<std::int64_t>(random() % 1'000'000),
                        peakmark::MemoryKind::buffer);
      if (random() % 100 == 0) writer.name(address, ("array " + std::to_string(random() % 50)).c_str());
      live.push_back(address);
    } else {
      writer.release(address);
      unused.push_back(address);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto events = peakmark::parse_number<std::uint64_t>(argc == 3 ? argv[2] : "");
  if (!events || argv[1][0] == '-') {
    std::fputs("usage: large_profile FILE EVENTS\nwrites FILE.<its process id>\n", stderr);
    return 2;
  }
  static peakmark::ProfileWriter writer;
  if (!writer.open(argv[1], "large_profile 1")) return 1;
  write(writer, *events);
  writer.close();
  return 0;
}
