#pragma once

#include <cupti.h>

#include <cstdint>
#include <vector>

#include "recorders/cupti/event_sink.hpp"

namespace peakmark {

/// Activity records of kind MEMORY2, kept until the end and then told in the order of their time: a second
/// account of what the callbacks saw, to check them by.
class MemoryRecords {
 public:
  void add(const CUpti_Activity& record);
  /// Tells everything collected, the earliest first. Static variables, which no call allocates, are left out
  /// and counted in a note; so are `dropped` records.
  void tell(EventSink& sink, std::uint64_t dropped);

 private:
  struct Record {
    std::uint64_t time_ns;
    bool is_release;
    CudaAllocation allocation;
  };
  std::vector<Record> records_;
  std::uint64_t static_variables_ = 0;
};

}  // namespace peakmark
