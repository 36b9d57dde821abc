#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/size.hpp"
#include "record/profile/event.hpp"

namespace peakmark {

/// Source of the events of this process, to which a trial adds marks: the recorder that is loaded into this
/// process, or the allocation log of the `dry` backend.
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
  /// Returns the number of events so far, an index for `events`.
  [[nodiscard]] virtual std::uint64_t count() const = 0;
  /// Returns the events from index `first` on.
  [[nodiscard]] virtual std::vector<Event> events(std::uint64_t first) = 0;
};

}  // namespace peakmark
