#include "record/ledger/device_use.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <sstream>
#include <unordered_set>
#include <utility>

#include "base/size.hpp"
#include "record/ledger/replay.hpp"

namespace peakmark {
namespace {

/// Names of devices by their number in the process, from the events EventType::device.
using DeviceNames = std::map<std::uint64_t, std::string>;

/// Counts allocations, live bytes and peak of each device.
class DeviceLedger : public ReplayObserver {
 public:
  explicit DeviceLedger(std::span<const Event> events) : events_(events) {
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (events[i].type == EventType::device) add_names(events[i].address, text_of(events, i));
    }
  }

  [[nodiscard]] bool has_several() const { return names_.size() > 1; }

  void allocated(std::size_t i, const LiveMemory& live) {
    changed(i, live);
    if (events_[i].amounts.result != 0) return;
    for_each_use(events_[i], [](DeviceUse& use) { ++use.allocations; });
  }
  void changed(std::size_t i, const LiveMemory& /*live*/) {
    for_each_use(events_[i], [&](DeviceUse& use) {
      use.live_at_end_bytes = checked_add(use.live_at_end_bytes, events_[i].amounts.bytes);
      use.peak_bytes = std::max(use.peak_bytes, use.live_at_end_bytes);
    });
  }
  void released(std::size_t /*event*/, const LiveEntry& entry, const LiveMemory& /*live*/) {
    for_each_use(events_[entry.index], [&](DeviceUse& use) { use.live_at_end_bytes -= entry.bytes; });
  }
  void other(std::size_t i, const LiveMemory& /*live*/) {
    const Event& event = events_[i];
    if (event.type == EventType::folded &&
        static_cast<FoldedCount>(event.amounts.result) == FoldedCount::allocations)
      for_each_use(event, [&](DeviceUse& use) { use.allocations += event.amounts.auxiliary; });
  }

  [[nodiscard]] std::vector<DeviceUse> uses() const {
    std::vector<DeviceUse> all;
    for (const auto& [device, name] : names_) {
      const auto use = uses_.find(device);
      all.push_back(use == uses_.end() ? DeviceUse{} : use->second);
      all.back().name = shown_name(device);
    }
    return all;
  }

  [[nodiscard]] const DeviceNames& names() const { return names_; }

  /// `if_unknown` is the result if the devices of the event are unknown.
  [[nodiscard]] bool is_on(std::uint64_t device, const Event& event, bool if_unknown) const {
    const auto devices = devices_of_.find(event.amounts.device);
    return devices == devices_of_.end() ? if_unknown : std::ranges::count(devices->second, device) > 0;
  }

  /// Returns false for memory that is only on other devices, true if its devices are unknown.
  [[nodiscard]] bool may_be_on(const Event& event, const std::string& name) const {
    const auto devices = devices_of_.find(event.amounts.device);
    return devices == devices_of_.end() ||
           std::ranges::any_of(devices->second, [&](std::uint64_t one) { return shown_name(one) == name; });
  }

 private:
  template <typename Visit>
  void for_each_use(const Event& event, Visit visit) {
    const auto devices = devices_of_.find(event.amounts.device);
    if (!counts_into_peak(event.kind) || devices == devices_of_.end()) return;
    for (const std::uint64_t device : devices->second) visit(uses_[device]);
  }
  [[nodiscard]] std::string shown_name(std::uint64_t device) const {
    const std::string& name = names_.at(device);
    const auto same = std::ranges::count(names_, name, &DeviceNames::value_type::second);
    return same > 1 ? fmt::format("{} ({})", name, device) : name;
  }
  void add_names(std::uint64_t number, const std::string& text) {
    std::istringstream lines(text);
    std::uint64_t device = 0;
    std::string name;
    while (lines >> device && std::getline(lines >> std::ws, name)) {
      devices_of_[number].push_back(device);
      names_[device] = name;
    }
  }

  std::span<const Event> events_;
  DeviceNames names_;
  std::map<std::uint64_t, std::vector<std::uint64_t>> devices_of_;
  std::map<std::uint64_t, DeviceUse> uses_;
};

}  // namespace

std::vector<DeviceUse> use_by_device(std::span<const Event> events) {
  DeviceLedger ledger(events);
  if (!ledger.has_several()) return {};
  replay(events, ledger);
  return ledger.uses();
}

std::vector<MemoryFilter> memory_by_device(std::span<const Event> events) {
  const auto ledger = std::make_shared<const DeviceLedger>(events);
  std::vector<MemoryFilter> filters;
  if (!ledger->has_several()) return filters;
  for (const auto& [device, name] : ledger->names()) {
    for (const bool if_unknown : {false, true})
      filters.emplace_back([ledger, device = device, if_unknown](const Event& event) {
        return ledger->is_on(device, event, if_unknown);
      });
  }
  return filters;
}

std::vector<Event> events_of_device(std::span<const Event> events, const std::string& name) {
  const DeviceLedger ledger(events);
  std::vector<Event> kept;
  std::unordered_set<std::uint64_t> left_out;  // live memory of other devices, by its address
  for (const Event& event : events) {
    if (event.type == EventType::allocation) {
      left_out.erase(event.address);
      if (!ledger.may_be_on(event, name)) left_out.insert(event.address);
    }
    const bool is_memory = event.type == EventType::allocation || event.type == EventType::name;
    if (is_memory && left_out.contains(event.address)) continue;
    if (event.type == EventType::release && left_out.erase(event.address) > 0) continue;
    // The first event of folded events has 0 bytes and only marks them.
    const bool is_total = (event.type == EventType::live && event.amounts.bytes != 0) ||
                          (event.type == EventType::folded &&
                           static_cast<FoldedCount>(event.amounts.result) == FoldedCount::allocations);
    if (is_total && !ledger.may_be_on(event, name)) continue;
    kept.push_back(event);
  }
  return kept;
}

}  // namespace peakmark
