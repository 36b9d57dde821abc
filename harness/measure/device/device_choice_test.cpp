#include <gmock/gmock.h>

#include "base/error.hpp"
#include "measure/device/device.hpp"

namespace peakmark {
namespace {

DeviceInfo device(Backend backend, int index, std::string name, bool is_cpu = false) {
  DeviceInfo info;
  info.backend = backend;
  info.index = index;
  info.name = std::move(name);
  info.is_cpu = is_cpu;
  return info;
}

const DeviceInfo kPocl = device(Backend::opencl, 0, "pthread-EPYC", true);
const DeviceInfo kRadeon = device(Backend::opencl, 1, "Radeon Pro W7900");
const DeviceInfo kOpenClA100 = device(Backend::opencl, 2, "NVIDIA A100");
const DeviceInfo kA100 = device(Backend::cuda, 0, "NVIDIA A100");
const DeviceInfo kA100Sxm = device(Backend::cuda, 1, "NVIDIA A100-SXM4-80GB");
const DeviceInfo kDry = device(Backend::dry, 0, "dry");

std::pair<Backend, int> chosen(const DeviceChoice& choice, std::vector<DeviceInfo> devices) {
  const DeviceInfo info = choose_device(choice, {std::move(devices), {}});
  return {info.backend, info.index};
}
std::pair<Backend, int> id(const DeviceInfo& info) {
  return {info.backend, info.index};
}

std::string refusal(const DeviceChoice& choice, std::vector<DeviceInfo> devices) {
  try {
    choose_device(choice, {std::move(devices), {"cuda: no driver"}});
  } catch (const DeviceError& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(DeviceChoice, AutomaticTakesCudaThenAnOpenClGpuThenAnyOpenCl) {
  EXPECT_EQ(chosen({}, {kA100, kPocl, kRadeon, kDry}), id(kA100));
  EXPECT_EQ(chosen({}, {kPocl, kRadeon, kDry}), id(kRadeon));
  EXPECT_EQ(chosen({}, {kPocl, kDry}), id(kPocl));
}

TEST(DeviceChoice, AutomaticNeverTakesDry) {
  EXPECT_THAT(refusal({}, {kDry}), ::testing::AllOf(::testing::HasSubstr("no device here"),
                                                    ::testing::HasSubstr("cuda: no driver")));
  EXPECT_THAT(refusal({.backend = {}, .device = "dry"}, {kPocl, kDry}),
              ::testing::AllOf(::testing::HasSubstr("'dry'"), ::testing::HasSubstr("--backend dry")));
  EXPECT_THAT(refusal({.backend = {}, .device = "dragon"}, {kPocl, kDry}),
              ::testing::Not(::testing::HasSubstr("--backend dry")));
}

TEST(DeviceChoice, ABackendIsKept) {
  EXPECT_EQ(chosen({.backend = Backend::opencl, .device = ""}, {kA100, kPocl, kDry}), id(kPocl));
  EXPECT_EQ(chosen({.backend = Backend::dry, .device = ""}, {kA100, kPocl, kDry}), id(kDry));
  EXPECT_THAT(refusal({.backend = Backend::cuda, .device = ""}, {kPocl, kDry}),
              ::testing::HasSubstr("no cuda device here"));
}

TEST(DeviceChoice, AnIndexCountsWithinTheBackend) {
  EXPECT_EQ(chosen({.backend = Backend::opencl, .device = "1"}, {kA100, kA100Sxm, kPocl, kRadeon}),
            id(kRadeon));
  EXPECT_EQ(chosen({.backend = {}, .device = "1"}, {kA100, kA100Sxm, kPocl, kRadeon}), id(kA100Sxm));
  EXPECT_EQ(chosen({.backend = {}, .device = "0"}, {kPocl, kRadeon}), id(kPocl));
}

TEST(DeviceChoice, AnIndexNeverFallsThroughToANameOrAnotherBackend) {
  EXPECT_THAT(refusal({.backend = {}, .device = "2"}, {kA100, kA100Sxm, kPocl, kRadeon, kOpenClA100}),
              ::testing::HasSubstr("no device has the index 2"));
  EXPECT_THAT(refusal({.backend = {}, .device = "7900"}, {kRadeon}),
              ::testing::HasSubstr("no device has the index 7900"));
  EXPECT_THAT(refusal({.backend = {}, .device = "99999999999999999999"}, {kRadeon}),
              ::testing::HasSubstr("no device has the index"));
}

TEST(DeviceChoice, AnIndexIsNoNameWhereNoDeviceIs) {
  EXPECT_THAT(refusal({.backend = {}, .device = "97"}, {kDry}),
              ::testing::HasSubstr("no device has the index 97"));
}

TEST(DeviceChoice, APartOfANameInAnyCaseIsEnough) {
  EXPECT_EQ(chosen({.backend = {}, .device = "rADeon"}, {kPocl, kRadeon}), id(kRadeon));
  EXPECT_EQ(chosen({.backend = {}, .device = "sxm4"}, {kA100, kA100Sxm}), id(kA100Sxm));
  EXPECT_EQ(chosen({.backend = {}, .device = "epyc"}, {kA100, kPocl}), id(kPocl));
}

TEST(DeviceChoice, AWholeNameWinsOverAPart) {
  EXPECT_EQ(chosen({.backend = {}, .device = "nvidia a100"}, {kA100Sxm, kA100}), id(kA100));
}

TEST(DeviceChoice, OfOneCardUnderTwoBackendsAutomaticTakesCuda) {
  EXPECT_EQ(chosen({.backend = {}, .device = "a100"}, {kA100, kOpenClA100}), id(kA100));
  EXPECT_EQ(chosen({.backend = Backend::opencl, .device = "a100"}, {kA100, kOpenClA100}), id(kOpenClA100));
}

TEST(DeviceChoice, APartOfSeveralNamesIsRefusedWithAList) {
  EXPECT_THAT(refusal({.backend = {}, .device = "nvidia"}, {kA100, kA100Sxm, kPocl}),
              ::testing::AllOf(::testing::HasSubstr("'nvidia' is part of 2 devices' names"),
                               ::testing::HasSubstr("cuda 1: NVIDIA A100-SXM4-80GB"),
                               ::testing::HasSubstr("opencl 0: pthread-EPYC")));
}

TEST(DeviceChoice, ANameThatMatchesNothingIsRefusedWithAList) {
  EXPECT_THAT(refusal({.backend = {}, .device = "H200"}, {kA100, kPocl}),
              ::testing::AllOf(::testing::HasSubstr("'H200'"), ::testing::HasSubstr("cuda 0: NVIDIA A100")));
}

TEST(DeviceChoice, BackendsHaveNames) {
  for (const Backend backend : {Backend::opencl, Backend::cuda, Backend::dry}) {
    EXPECT_EQ(parse_backend(to_string(backend)), backend);
  }
  EXPECT_THAT([] { (void)parse_backend("openlc"); },
              testing::ThrowsMessage<UsageError>(testing::HasSubstr(
                  "'openlc' is not a backend; did you mean 'opencl'? (known: opencl, cuda")));
  EXPECT_THROW(parse_backend("metal"), UsageError);
}

}  // namespace
}  // namespace peakmark
