#include "record/show/one_device.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <vector>

#include "record/ledger/device_use.hpp"

namespace peakmark {

std::string keep_one_device(RecordedTree& tree) {
  std::map<std::string, Size> peaks;
  std::vector<RecordedProcess*> with_several;
  for (RecordedProcess& process : tree.processes) {
    const std::vector<DeviceUse> uses = use_by_device(process.events);
    if (!uses.empty()) with_several.push_back(&process);
    for (const DeviceUse& use : uses) {
      Size& peak = peaks[use.name];
      peak = checked_add(peak, use.peak_bytes);
    }
  }
  if (peaks.empty()) return "";
  const std::string name =
      std::ranges::max_element(peaks, {}, [](const auto& one) { return one.second; })->first;
  std::vector<std::string> texts;
  for (const auto& [device, peak] : peaks) texts.push_back(fmt::format("{} {}", device, format_size(peak)));
  for (RecordedProcess* const process : with_several)
    process->events = events_of_device(process->events, name);
  return fmt::format("it uses {} devices, with these peaks: {}; only the memory of {} is judged",
                     peaks.size(), fmt::join(texts, ", "), name);
}

}  // namespace peakmark
