// Measures how many events per second the ledger replays in one thread (items_per_second).
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <vector>

#include "record/ledger/ledger.hpp"

namespace {

/// Returns the events of a program that keeps about `live` objects and reuses addresses like an allocator.
std::vector<peakmark::Event> make_events(std::size_t live, std::size_t count) {
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> addresses;
  std::vector<std::uint64_t> unused;
  for (std::uint64_t i = 0; i < 2 * live; ++i) unused.push_back(0x7f0000000000U + 512 * i);
  std::vector<peakmark::Event> events(count);
  for (peakmark::Event& event : events) {
    const bool allocate = addresses.empty() || (addresses.size() < live && random() % 16 != 0) ||
                          (random() % 2 == 0 && !unused.empty());
    auto& from = allocate ? unused : addresses;
    auto& to = allocate ? addresses : unused;
    std::swap(from[random() % from.size()], from.back());
    event.address = from.back();
    to.push_back(from.back());
    from.pop_back();
    event.type = allocate ? peakmark::EventType::allocation : peakmark::EventType::release;
    event.kind = allocate ? peakmark::MemoryKind::buffer : peakmark::MemoryKind::none;
    event.amounts.bytes = allocate ? static_cast<std::int64_t>(random() % 100000) : 0;
  }
  return events;
}

void replay(benchmark::State& state) {
  const auto events = make_events(static_cast<std::size_t>(state.range(0)), 8'000'000);
  for (auto _ : state) benchmark::DoNotOptimize(peakmark::summarise(events));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(events.size()));
}
BENCHMARK(replay)->Arg(100)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
