#include "show/trace_spans.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "base/size.hpp"
#include "ledger/address_map.hpp"

namespace peakmark {
namespace {

/// One pass over the events: when each allocation was made and released, and when the peak was.
class Lives {
 public:
  explicit Lives(std::span<const Event> events) : events_(events) {
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Event& event = events[i];
      if (event.type == EventType::allocation) {
        release(event.address, i);  // its release was lost
        map_.insert({event.address, lives_.size(), event.amounts.bytes, event.kind});
        lives_.push_back({i, events.size()});
        count(event.kind, event.amounts.bytes);
        if (live_ <= most_) continue;
        most_ = live_;
        peak_ = i;
      } else if (event.type == EventType::release) {
        release(event.address, i);
      } else if (event.type == EventType::name) {
        if (const LiveEntry* const entry = map_.find(event.address)) names_[entry->index] = i;
      }
    }
  }

  [[nodiscard]] TraceSpans largest(std::size_t max) {
    std::vector<std::size_t> order(lives_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (order.size() > max) {
      std::ranges::nth_element(order, order.begin() + static_cast<std::ptrdiff_t>(max), {},
                               [this](std::size_t i) { return rank(i); });
      order.resize(max);
      std::ranges::sort(order);
    }
    TraceSpans spans;
    spans.allocations = lives_.size();
    for (const std::size_t i : order) {
      TraceSpan span{lives_[i].from, std::nullopt, std::nullopt};
      if (lives_[i].to < events_.size()) span.release = lives_[i].to;
      if (const auto name = names_.find(i); name != names_.end()) span.name = name->second;
      spans.kept.push_back(span);
    }
    return spans;
  }

 private:
  struct Life {
    std::size_t from = 0;
    std::size_t to = 0;  ///< the number of events where it was never released
  };

  void count(MemoryKind kind, Size bytes) {
    if (counts_into_peak(kind)) live_ += bytes;
  }

  void release(std::uint64_t address, std::size_t i) {
    const LiveEntry* const entry = map_.find(address);
    if (entry == nullptr) return;
    lives_[entry->index].to = i;
    count(entry->kind, -entry->bytes);
    map_.erase(address);
  }

  [[nodiscard]] std::tuple<bool, Size, std::size_t> rank(std::size_t i) const {
    const Event& event = events_[lives_[i].from];
    const bool is_at_peak = lives_[i].from <= peak_ && peak_ < lives_[i].to && counts_into_peak(event.kind);
    return {!is_at_peak, -event.amounts.bytes, i};
  }

  std::span<const Event> events_;
  AddressMap map_;  // `index` is a place in lives_
  std::vector<Life> lives_;
  std::unordered_map<std::size_t, std::size_t> names_;  // by place in lives_
  Size live_ = 0;
  Size most_ = 0;
  std::size_t peak_ = 0;
};

}  // namespace

TraceSpans spans_for_trace(std::span<const Event> events, std::size_t max) {
  return Lives(events).largest(max);
}

}  // namespace peakmark
