#include "measure/device/opencl/opencl_devices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <vector>

#include "base/files_testing.hpp"

namespace peakmark {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes words(std::initializer_list<std::uint32_t> values) {
  Bytes bytes(values.size() * sizeof(std::uint32_t));
  std::memcpy(bytes.data(), values.begin(), bytes.size());
  return bytes;
}

/// A device that gives these answers, laid out as the texts of the extensions describe.
OpenClQuery answers(std::map<unsigned, Bytes> all) {
  return [all = std::move(all)](unsigned what, std::size_t bytes, void* value) {
    const auto found = all.find(what);
    if (found == all.end() || found->second.size() != bytes) return false;
    std::memcpy(value, found->second.data(), bytes);
    return true;
  };
}

TEST(PciAddress, OfTheKhronosExtension) {
  const OpenClQuery device = answers({{0x410F, words({0x1, 0x3b, 0x1f, 0x2})}});
  EXPECT_EQ(pci_address("cl_khr_fp64 cl_khr_pci_bus_info", device), "0001:3b:1f");
  EXPECT_EQ(pci_address("cl_khr_fp64", device), "") << "a device is asked only for what it announces";
}

TEST(PciAddress, OfNvidia) {
  const OpenClQuery device =
      answers({{0x4008, words({0x3b})}, {0x4009, words({0x1f << 3 | 1})}, {0x400A, words({0})}});
  EXPECT_EQ(pci_address("cl_nv_device_attribute_query", device), "0000:3b:1f");
  EXPECT_EQ(pci_address("cl_khr_pci_bus_info cl_nv_device_attribute_query", device), "0000:3b:1f")
      << "one that does not answer is followed by the next";
}

TEST(PciAddress, OfAmd) {
  Bytes topology(24, 0);
  topology[0] = 1;
  topology[21] = 0xc1;
  topology[22] = 0x02;
  EXPECT_EQ(pci_address("cl_amd_device_attribute_query", answers({{0x4037, topology}})), "0000:c1:02");
  topology[0] = 0;  // not PCIe
  EXPECT_EQ(pci_address("cl_amd_device_attribute_query", answers({{0x4037, topology}})), "");
}

TEST(PciAddress, NoAnswerIsNone) {
  EXPECT_EQ(pci_address("cl_khr_pci_bus_info cl_nv_device_attribute_query cl_amd_device_attribute_query",
                        answers({})),
            "");
}

using testing::AllOf;
using testing::HasSubstr;

TEST(PoclCache, AFolderThatIsNotThereYetCanBeMade) {
  const TemporaryFolder folder;
  setenv("POCL_CACHE_DIR", (folder.path() / "a" / "b").c_str(), 1);
  EXPECT_EQ(pocl_cache_error(), "");
}

TEST(PoclMethod, OnlyAnAffectedReleaseGetsAnother) {
  const auto method = [](const std::string& platform, const std::string& driver) -> std::string {
    DeviceInfo device;
    device.backend = Backend::opencl;
    device.platform = platform;
    device.driver = driver;
    unsetenv("POCL_WORK_GROUP_METHOD");
    choose_pocl_method(device);
    const char* const chosen = std::getenv("POCL_WORK_GROUP_METHOD");
    return chosen == nullptr ? "" : chosen;
  };
  const std::string pocl = "Portable Computing Language";
  for (const char* driver : {"7.0", "7.1", "7.1+debian", "7.0 Release", "7.1.1"})
    EXPECT_EQ(method(pocl, driver), "cbs") << driver;
  for (const char* driver : {"3.1+debian", "6.0", "7.2", "7.10", "17.1", ""})
    EXPECT_EQ(method(pocl, driver), "") << driver;
  EXPECT_EQ(method("NVIDIA CUDA", "7.1"), "");
}

TEST(PoclMethod, TheUsersStays) {
  DeviceInfo device;
  device.backend = Backend::opencl;
  device.platform = "Portable Computing Language";
  device.driver = "7.1";
  setenv("POCL_WORK_GROUP_METHOD", "loops", 1);
  choose_pocl_method(device);
  EXPECT_STREQ(std::getenv("POCL_WORK_GROUP_METHOD"), "loops");
}

// The file is in the way of the folder. This stops root too, who is not stopped by the mode of a folder.
TEST(PoclCache, AHomeThatIsNoFolderIsNamedWithTheWayOut) {
  const TemporaryFolder folder;
  const std::filesystem::path home = folder.path() / "home";
  std::ofstream(home) << "a file";
  unsetenv("POCL_CACHE_DIR");
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", home.c_str(), 1);
  EXPECT_THAT(pocl_cache_error(),
              AllOf(HasSubstr((home / ".cache/pocl/kcache").string()), HasSubstr("set POCL_CACHE_DIR")));
  setenv("XDG_CACHE_HOME", folder.path().c_str(), 1);
  EXPECT_EQ(pocl_cache_error(), "");
  setenv("POCL_CACHE_DIR", home.c_str(), 1);
  EXPECT_THAT(pocl_cache_error(), HasSubstr(home.string() + ";"));
}

}  // namespace
}  // namespace peakmark
