#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/size.hpp"
#include "record/profile/event.hpp"

namespace peakmark {

/// The events of this process, and the marks that a trial adds: from the recorder that is loaded into this
/// process, or from the allocation log of the `dry` backend.
class EventSource {
 public:
  EventSource() = default;
  EventSource(const EventSource&) = delete;
  EventSource& operator=(const EventSource&) = delete;
  virtual ~EventSource() = default;

  virtual void phase(std::string_view name) = 0;
  virtual void name(std::uint64_t address, std::string_view name) = 0;
  /// From now on, each allocation of this thread contains so many bytes of guards, which are not recorded. 0
  /// ends it.
  virtual void guards(Size /*bytes*/) {}
  /// Events so far; an index for `events`.
  [[nodiscard]] virtual std::uint64_t count() const = 0;
  /// The events from `first` on.
  [[nodiscard]] virtual std::vector<Event> events(std::uint64_t first) = 0;
};

}  // namespace peakmark
