#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/blocked_signals.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "measure/device/backend.hpp"
#include "measure/device/device.hpp"
#include "measure/device/dry/dry_device.hpp"
#include "measure/sweep/nearest_word.hpp"

namespace peakmark {

using backend::Device;
namespace {

constexpr std::array<std::string_view, 3> kBackendNames{"opencl", "cuda", "dry"};

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

using Candidates = std::vector<const DeviceInfo*>;

std::string listing(const DeviceList& list) {
  std::string text = "\nthere is:";
  for (const DeviceInfo& info : list.devices) {
    text += fmt::format("\n  {} {}: {}", to_string(info.backend), info.index, info.name);
  }
  for (const std::string& reason : list.reasons) text += fmt::format("\n  ({})", reason);
  return text;
}

/// Returns the pools of candidates, the preferred one first. Each pool is used only if the earlier ones have
/// no match.
std::vector<Candidates> pools(const DeviceChoice& choice, const DeviceList& list) {
  const auto select = [&](auto&& wanted) {
    Candidates pool;
    for (const DeviceInfo& info : list.devices) {
      if (wanted(info)) pool.push_back(&info);
    }
    return pool;
  };
  if (choice.backend)
    return {select([&](const DeviceInfo& info) { return info.backend == *choice.backend; })};
  return {select([](const DeviceInfo& info) { return info.backend == Backend::cuda; }),
          select([](const DeviceInfo& info) { return info.backend == Backend::opencl; })};
}

const DeviceInfo& best(const Candidates& pool) {
  const auto gpu = std::ranges::find_if(pool, [](const DeviceInfo* info) { return !info->is_cpu; });
  return gpu != pool.end() ? **gpu : *pool.front();
}

const DeviceInfo& by_index(std::string_view text, const Candidates& pool, const DeviceList& list) {
  if (const auto index = parse_number<int>(text)) {
    for (const DeviceInfo* info : pool) {
      if (info->index == *index) return *info;
    }
  }
  throw DeviceError(fmt::format("no device has the index {} (digits alone are an index, never a name){}",
                                text, listing(list)));
}

/// Returns null if none matches.
const DeviceInfo* by_name(std::string_view text, const Candidates& pool, const DeviceList& list) {
  const std::string wanted = lower(text);
  Candidates matches;
  Candidates exact;
  for (const DeviceInfo* info : pool) {
    const std::string name = lower(info->name);
    if (name == wanted) exact.push_back(info);
    if (name.find(wanted) != std::string::npos) matches.push_back(info);
  }
  // "A100" is also a part of "A100-SXM": a full match has precedence.
  if (exact.size() == 1) return exact.front();
  if (matches.size() > 1) {
    throw DeviceError(fmt::format("'{}' is part of {} devices' names; write more of it, or an index{}", text,
                                  matches.size(), listing(list)));
  }
  return matches.empty() ? nullptr : matches.front();
}

}  // namespace

std::string_view to_string(Backend backend) {
  return kBackendNames.at(static_cast<std::size_t>(backend));
}

Backend parse_backend(std::string_view name) {
  for (std::size_t i = 0; i < kBackendNames.size(); ++i) {
    if (kBackendNames[i] == name) return static_cast<Backend>(i);
  }
  throw UsageError(fmt::format("'{}' is not a backend{}", name,
                               suggest_word(name, {kBackendNames.begin(), kBackendNames.end()})));
}

DeviceList list_devices() {
  const BlockedSignals blocked;
  DeviceList list;
#ifdef PEAKMARK_HAS_CUDA
  list_cuda(list);
#else
  list.reasons.emplace_back(
      "cuda: this peakmark was built without CUDA; build it with a toolkit of CUDA 12.0 or later, which "
      "ci/cuda-wheels makes");
#endif
#ifdef PEAKMARK_HAS_OPENCL
  list_opencl(list);
#else
  list.reasons.emplace_back("opencl: this peakmark was built without OpenCL");
#endif
  list.devices.push_back(dry_device_info());
  return list;
}

DeviceInfo choose_device(const DeviceChoice& choice, const DeviceList& list) {
  const bool is_index = !choice.device.empty() &&
                        std::ranges::all_of(choice.device, [](unsigned char c) { return std::isdigit(c); });
  for (const Candidates& pool : pools(choice, list)) {
    if (pool.empty()) continue;
    if (choice.device.empty()) return best(pool);
    if (is_index) return by_index(choice.device, pool, list);
    if (const DeviceInfo* info = by_name(choice.device, pool, list)) return *info;
  }
  if (is_index && !choice.backend) return by_index(choice.device, {}, list);
  if (!choice.device.empty()) {
    // The listing below also names `dry`, which is used only if it is named.
    const bool means_dry = lower(choice.device) == to_string(Backend::dry);
    throw DeviceError(fmt::format("no {}device has a name with '{}' in it{}{}",
                                  choice.backend ? fmt::format("{} ", to_string(*choice.backend)) : "",
                                  choice.device, means_dry ? "; `dry` is a backend: --backend dry" : "",
                                  listing(list)));
  }
  throw DeviceError(
      fmt::format("no {}device here; `peakmark doctor` says how to get one, `--backend dry` needs "
                  "none{}",
                  choice.backend ? fmt::format("{} ", to_string(*choice.backend)) : "", listing(list)));
}

std::unique_ptr<Device> open_device(const DeviceInfo& info) {
  const BlockedSignals blocked;
  switch (info.backend) {
    case Backend::dry:
      return open_dry({.is_cpu = info.is_cpu});
    case Backend::opencl:
#ifdef PEAKMARK_HAS_OPENCL
      return open_opencl(info);
#else
      throw DeviceError("this peakmark was built without OpenCL");
#endif
    case Backend::cuda:
#ifdef PEAKMARK_HAS_CUDA
      return open_cuda(info);
#else
      throw DeviceError("this peakmark was built without CUDA");
#endif
  }
  throw std::logic_error("not a backend");
}

}  // namespace peakmark
