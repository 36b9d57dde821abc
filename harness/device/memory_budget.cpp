#include "device/memory_budget.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "profile/profile.hpp"

namespace peakmark {
namespace {

constexpr std::string_view kFree = "free";
constexpr const char* kForms = "write bytes such as 16GiB, 90%, or free-1GiB";

}  // namespace

MemoryBudget parse_budget(std::string_view text) {
  MemoryBudget budget;
  if (text.ends_with('%')) {
    budget.percent = parse_number<int>(text.substr(0, text.size() - 1));
    if (!budget.percent || *budget.percent < 1 || *budget.percent > 100)
      throw UsageError(fmt::format("'{}' is not a percentage from 1% to 100%; {}", text, kForms));
  } else if (text == kFree) {
    budget.reserve = 0;
  } else if (text.starts_with(kFree) && text.substr(kFree.size()).starts_with('-')) {
    budget.reserve = parse_size(text.substr(kFree.size() + 1));
  } else {
    budget.bytes = parse_size(text);
    if (*budget.bytes < 1 || *budget.bytes > kMaxBudget)
      throw UsageError(
          fmt::format("'{}' is not a budget: it must be from 1 byte to {}", text, format_size(kMaxBudget)));
  }
  return budget;
}

ResolvedBudget resolve_budget(const MemoryBudget& budget, const DeviceInfo& device,
                              const DeviceMemory& memory) {
  if (budget.bytes) return {*budget.bytes, ""};
  const auto known = [&](const std::optional<Size>& bytes, std::string_view what) {
    if (!bytes)
      throw UsageError(
          fmt::format("--budget: the {} of {} is unknown: write bytes, such as 16GiB", what, device.name));
    return *bytes;
  };
  if (budget.percent) {
    const Size all = known(device.memory_bytes, "memory");
    return {all / 100 * *budget.percent + all % 100 * *budget.percent / 100,
            fmt::format("{} % of the {} of {}", *budget.percent, format_size(all), device.name)};
  }
  const Size free = known(memory.free_bytes, "free memory");
  const std::string text = fmt::format("{} of {} are free{}", format_size(free), device.name,
                                       *budget.reserve == 0 ? "" : ", less " + format_size(*budget.reserve));
  if (free <= *budget.reserve) throw UsageError(fmt::format("--budget: nothing is left: {}", text));
  return {free - *budget.reserve, text};
}

ResolvedBudget resolve_budget(const MemoryBudget& budget, const DeviceInfo& device) {
  return resolve_budget(budget, device, budget.reserve ? open_device(device)->memory() : DeviceMemory());
}

}  // namespace peakmark
