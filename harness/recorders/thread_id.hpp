#pragma once

#include <cstdint>

namespace peakmark {

/// The kernel's id of this thread; asked of the kernel once a thread, and again after a fork.
std::uint32_t thread_id();
void forget_thread_id();

}  // namespace peakmark
