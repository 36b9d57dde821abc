#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/size.hpp"
#include "profile/event_source.hpp"

namespace peakmark {

/// Allocations and releases as a recorder would have written them, in the memory of this process. One thread.
class AllocationLog final : public EventSource {
 public:
  AllocationLog(MemoryKind kind, std::optional<Size> budget_bytes) : kind_(kind), budget_(budget_bytes) {}

  /// Returns an address that no other allocation of these allocation_log has or had. Throws OutOfMemory
  /// beyond the budget and allocation_log the refusal; OverflowError when the live bytes leave 64 bits.
  std::uint64_t allocate(Size bytes);
  void release(std::uint64_t address, Size bytes);

  void set_budget(std::optional<Size> bytes) { budget_ = bytes; }
  [[nodiscard]] std::optional<Size> budget() const { return budget_; }
  [[nodiscard]] Size live() const { return live_; }

  void phase(std::string_view name) override;
  void name(std::uint64_t address, std::string_view name) override;
  [[nodiscard]] std::uint64_t count() const override { return events_.size(); }
  [[nodiscard]] std::vector<Event> events(std::uint64_t first) override;

 private:
  Event& append(EventType type, MemoryKind kind, std::uint64_t address);
  void append_text(EventType type, std::uint64_t address, std::string_view text);

  MemoryKind kind_;
  std::optional<Size> budget_;
  Size live_ = 0;
  std::uint64_t next_address_ = 1;
  std::vector<Event> events_;
};

}  // namespace peakmark
