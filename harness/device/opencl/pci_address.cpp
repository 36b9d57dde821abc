#include "device/opencl/pci_address.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>

namespace peakmark {
namespace {

// From the texts of the extensions; CL/cl_ext.h of older systems lacks some.
constexpr unsigned kPciBusInfoKhr = 0x410F;
constexpr unsigned kPciBusNv = 0x4008;
constexpr unsigned kPciSlotNv = 0x4009;
constexpr unsigned kPciDomainNv = 0x400A;
constexpr unsigned kTopologyAmd = 0x4037;
constexpr std::uint32_t kTopologyTypePcieAmd = 1;

std::string text_of_address(std::uint32_t domain, std::uint32_t bus, std::uint32_t device) {
  return fmt::format("{:04x}:{:02x}:{:02x}", domain, bus, device);
}

std::string khr_address(const OpenClQuery& query) {
  struct {
    std::uint32_t domain, bus, device, function;
  } info{};
  if (!query(kPciBusInfoKhr, sizeof info, &info)) return {};
  return text_of_address(info.domain, info.bus, info.device);
}

std::string nvidia_address(const OpenClQuery& query) {
  std::uint32_t domain = 0;
  std::uint32_t bus = 0;
  std::uint32_t slot = 0;  // device and function
  if (!query(kPciBusNv, sizeof bus, &bus) || !query(kPciSlotNv, sizeof slot, &slot) ||
      !query(kPciDomainNv, sizeof domain, &domain)) {
    return {};
  }
  return text_of_address(domain, bus, slot >> 3);
}

/// It tells no domain.
std::string amd_address(const OpenClQuery& query) {
  struct {
    std::uint32_t type;
    std::array<std::uint8_t, 17> unused;
    std::uint8_t bus, device, function;
  } topology{};
  static_assert(sizeof topology == 24);
  if (!query(kTopologyAmd, sizeof topology, &topology) || topology.type != kTopologyTypePcieAmd) return {};
  return text_of_address(0, topology.bus, topology.device);
}

}  // namespace

std::string pci_address(std::string_view extensions, const OpenClQuery& query) {
  struct Way {
    std::string_view extension;
    std::string (*address)(const OpenClQuery&);
  };
  for (const auto& [extension, address] :
       {Way{"cl_khr_pci_bus_info", khr_address}, Way{"cl_nv_device_attribute_query", nvidia_address},
        Way{"cl_amd_device_attribute_query", amd_address}}) {
    if (extensions.find(extension) == std::string_view::npos) continue;
    if (std::string text = address(query); !text.empty()) return text;
  }
  return {};
}

}  // namespace peakmark
