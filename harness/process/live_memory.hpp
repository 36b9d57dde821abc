#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/size.hpp"
#include "ledger/address_map.hpp"
#include "profile/event.hpp"

namespace peakmark {

/// What a stretch of a program did with device memory. Bytes are requested bytes of the kinds that count into
/// the peak.
struct MemoryUse {
  Size peak_bytes = 0;  ///< most live at any moment, what was live before included
  Size live_before_bytes = 0;
  Size live_after_bytes = 0;
  Size total_bytes = 0;  ///< of all allocations, whether or not they were live at the same time
  std::int64_t allocations = 0;
  std::int64_t failed_allocations = 0;
  bool operator==(const MemoryUse&) const = default;
};

/// What is live in a process, followed event by event while it runs, and stretches of it, which may lie
/// within each other and overlap. `summarise` of the ledger tells more, of a recording that has ended.
class LiveMemory {
 public:
  /// `recorder`: 0, 1, …: an address means something else to OpenCL than to CUDA.
  void replay(std::size_t recorder, const Event& event);

  /// Begins a stretch; gives what `end` is called with.
  std::size_t begin();
  /// Ends it. Its number may be given again.
  MemoryUse end(std::size_t stretch);

  [[nodiscard]] Size live_bytes() const { return live_; }

 private:
  struct Stretch {
    bool is_open = false;
    MemoryUse use;
  };

  void allocate(AddressMap& map, const Event& event);
  void release(AddressMap& map, std::uint64_t address);

  std::vector<AddressMap> maps_;  ///< by recorder
  std::vector<Stretch> stretches_;
  Size live_ = 0;
};

}  // namespace peakmark
