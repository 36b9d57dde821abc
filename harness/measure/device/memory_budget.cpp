#include "measure/device/memory_budget.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "record/profile/profile.hpp"

namespace peakmark {
namespace {

constexpr std::string_view kFree = "free";
constexpr const char* kForms = "write bytes such as 16GiB, 90%, free, or free-1GiB";

}  // namespace

MemoryBudget parse_budget(std::string_view text) {
  MemoryBudget budget;
  if (text.ends_with('%')) {
    budget.percent = parse_number<int>(text.substr(0, text.size() - 1));
    if (!budget.percent || *budget.percent < 1 || *budget.percent > 100)
      throw UsageError(fmt::format("'{}' is not a percentage from 1% to 100%; {}", text, kForms));
  } else if (text == kFree) {
    return budget;
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

std::optional<Size> MemoryReserve::bytes() const {
  if (!free_bytes || !allocatable_bytes) return std::nullopt;
  return std::max<Size>(*free_bytes - *allocatable_bytes, 0);
}

std::optional<Size> MemoryReserve::fragmentation_bytes() const {
  if (!bytes() || !context_bytes) return std::nullopt;
  return std::max<Size>(*bytes() - *context_bytes - library_bytes.value_or(0), 0);
}

std::string reserve_text(const MemoryReserve& reserve) {
  std::vector<std::string> parts;
  const auto add = [&](std::string_view what, const std::optional<Size>& bytes) {
    if (bytes) parts.push_back(fmt::format("{} {}", what, format_size(*bytes)));
  };
  add("context", reserve.context_bytes);
  add("cuBLAS", reserve.library_bytes);
  add("fragmentation", reserve.fragmentation_bytes());
  return fmt::format("{}, measured on {} ({})", format_size(*reserve.bytes()), reserve.date,
                     fmt::join(parts, ", "));
}

ResolvedBudget resolve_budget(const MemoryBudget& budget, const DeviceInfo& device,
                              const DeviceMemory& memory, const MemoryReserve& reserve) {
  if (budget.bytes) {
    // Otherwise a CPU device would fill the host's memory.
    if (device.memory_bytes && *budget.bytes > *device.memory_bytes)
      return {*device.memory_bytes,
              fmt::format("{} is more than {} has", format_size(*budget.bytes), device.name)};
    return {*budget.bytes, ""};
  }
  const auto known = [&](const std::optional<Size>& bytes, std::string_view what) {
    if (!bytes && device.backend == Backend::dry)
      throw UsageError(
          "--budget: dry allocates nothing on a device, so it has no memory to take a part of: "
          "write bytes, such as 16GiB");
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
  const std::optional<Size> left_out = budget.reserve ? budget.reserve : reserve.bytes();
  if (!left_out)
    throw UsageError(
        fmt::format("--budget: the reserve of {} could not be measured: write how much of its "
                    "free memory to leave, such as free-1GiB",
                    device.name));
  const std::string text =
      fmt::format("{} of {} are free, less {}", format_size(free), device.name,
                  budget.reserve ? format_size(*budget.reserve) : "a reserve of " + reserve_text(reserve));
  if (free <= *left_out) throw UsageError(fmt::format("--budget: nothing is left: {}", text));
  return {free - *left_out, text};
}

}  // namespace peakmark
