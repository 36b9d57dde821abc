#pragma once

#include <benchmark/benchmark.h>

#include <functional>

#include "base/size.hpp"

namespace peakmark {

/// Each iteration is a block: `prepare`, outside all timers, then copies of `copied_bytes` and one `call`.
/// The counters `over_command`, `over_kernel` and `over_streamed` are the medians over the blocks of the time
/// of the call over that of the driver's copy, of a row-grained copy kernel, and of one that stores past the
/// caches; `ratio` is the greater of the first two: over the faster of command and kernel. `spread` is the
/// relative width of its middle half. `cpu_over_streamed` is `over_streamed` in CPU time of this process, all
/// threads: what to read for a CPU device while other programs run.
void time_over_copies(benchmark::State& state, Size copied_bytes, const std::function<void()>& prepare,
                      const std::function<void()>& call);

}  // namespace peakmark
