#include "measure/device/doctor.hpp"

#include <gmock/gmock.h>

namespace peakmark {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

DeviceInfo gpu() {
  DeviceInfo info;
  info.backend = Backend::cuda;
  info.name = "NVIDIA H200";
  info.vendor = "NVIDIA Corporation";
  return info;
}

DeviceInfo pocl() {
  DeviceInfo info;
  info.backend = Backend::opencl;
  info.name = "pthread-EPYC";
  info.platform = "Portable Computing Language";
  info.is_cpu = true;
  return info;
}

DeviceInfo dry() {
  DeviceInfo info;
  info.backend = Backend::dry;
  info.name = "dry";
  return info;
}

/// A runner with a GPU and without problems.
MachineFacts quiet() {
  MachineFacts facts;
  facts.build_type = "Release";
  facts.devices.devices = {gpu(), dry()};
  facts.nvml = NvmlFacts{"580.1", {GpuFacts{}}};
  GpuFacts& card = facts.nvml->gpus[0];
  card.name = "NVIDIA H200";
  card.other_processes = 0;
  card.mig = false;
  card.persistence = true;
  facts.opencl_recorder = "/p/libpeakmark-opencl.so";
  facts.cuda_recorder = "/p/libpeakmark-cupti.so";
  facts.cupti = "libcupti.so.13";
  facts.governor = "performance";
  facts.load_average = 0.4;
  facts.cpus = 16;
  return facts;
}

std::vector<std::string> ids(const MachineFacts& facts, const DeviceInfo* device = nullptr) {
  std::vector<std::string> ids;
  for (const Finding& finding : diagnose(facts, device)) {
    EXPECT_FALSE(finding.what.empty());
    EXPECT_FALSE(finding.fix.empty());
    ids.push_back(finding.id);
  }
  return ids;
}

TEST(Doctor, FindsNothingOnAQuietRunner) {
  EXPECT_THAT(ids(quiet()), IsEmpty());
}

TEST(Doctor, UnknownFactsGiveNoFinding) {
  MachineFacts facts = quiet();
  facts.nvml->gpus[0] = GpuFacts{};
  facts.nvml->gpus[0].name = "NVIDIA H200";
  facts.governor.reset();
  facts.load_average.reset();
  EXPECT_THAT(ids(facts), IsEmpty());
  facts.nvml.reset();
  EXPECT_THAT(ids(facts), IsEmpty());
}

TEST(Doctor, DryAloneIsNoDevice) {
  MachineFacts facts = quiet();
  facts.devices.devices = {dry()};
  facts.devices.reasons = {"opencl: no OpenCL loader", "cuda: no driver"};
  EXPECT_THAT(ids(facts), ElementsAre("no-device", "backend-without-device", "backend-without-device"));
  EXPECT_THAT(diagnose(facts)[1].what, HasSubstr("no OpenCL loader"));
}

TEST(Doctor, RecordersAreNeededForBackendsWithADevice) {
  MachineFacts facts = quiet();
  facts.opencl_recorder.reset();
  EXPECT_THAT(ids(facts), IsEmpty());
  facts.cuda_recorder.reset();
  facts.cupti.reset();
  facts.recorder_folders = "/p";
  EXPECT_THAT(ids(facts), ElementsAre("no-cuda-recorder", "no-cupti"));
  EXPECT_THAT(diagnose(facts)[0].fix, HasSubstr("/p"));
  facts = quiet();
  facts.devices.devices = {pocl()};
  facts.pocl_memory_limit = "4";
  facts.cuda_recorder.reset();
  facts.cupti.reset();
  EXPECT_THAT(ids(facts), ElementsAre("cpu-device"));
  facts.opencl_recorder.reset();
  EXPECT_THAT(ids(facts), ElementsAre("no-opencl-recorder", "cpu-device"));
}

TEST(Doctor, ReportsAnotherToolInTheEnvironment) {
  MachineFacts facts = quiet();
  facts.cuda_injection = "/opt/nsys.so";
  EXPECT_THAT(ids(facts), ElementsAre("cuda-injection-set"));
  facts.cuda_injection = facts.cuda_recorder;
  EXPECT_THAT(ids(facts), IsEmpty());
  facts.devices.devices = {pocl()};
  facts.pocl_memory_limit = "4";
  facts.opencl_layers = "/opt/layer.so";
  EXPECT_THAT(ids(facts), ElementsAre("opencl-layers-set", "cpu-device"));
  facts.opencl_layers = facts.opencl_recorder;
  EXPECT_THAT(ids(facts), ElementsAre("cpu-device"));
}

TEST(Doctor, PoclWithoutALimitIsReported) {
  MachineFacts facts = quiet();
  facts.devices.devices.push_back(pocl());
  EXPECT_THAT(ids(facts), ElementsAre("pocl-memory-limit", "cpu-device"));
}

TEST(Doctor, PoclWithWrongResultsIsReported) {
  MachineFacts facts = quiet();
  facts.pocl_memory_limit = "4";
  facts.devices.devices.push_back(pocl());
  facts.devices.devices.back().driver = "7.1+debian";
  EXPECT_THAT(ids(facts), ElementsAre("pocl-wrong-results", "cpu-device"));
  EXPECT_THAT(diagnose(facts)[0].what, HasSubstr("peakmark sets for its own workers"));
  facts.pocl_work_group_method = "loopvec";
  EXPECT_THAT(diagnose(facts)[0].what, HasSubstr("POCL_WORK_GROUP_METHOD=cbs: it is loopvec"));
  facts.pocl_work_group_method = "cbs";
  EXPECT_THAT(ids(facts), ElementsAre("cpu-device"));
  facts.pocl_work_group_method.reset();
  facts.devices.devices.back().driver = "7.2";
  EXPECT_THAT(ids(facts), ElementsAre("cpu-device"));
}

TEST(Doctor, ADeviceGetsOnlyItsOwnFindings) {
  MachineFacts facts = quiet();
  facts.devices.devices.push_back(pocl());
  facts.devices.reasons = {"a reason"};
  const DeviceInfo card = gpu();
  EXPECT_THAT(ids(facts, &card), IsEmpty());
  const DeviceInfo processor = pocl();
  facts.nvml->gpus[0].mig = true;
  EXPECT_THAT(ids(facts, &processor), ElementsAre("pocl-memory-limit", "cpu-device"));
  EXPECT_THAT(ids(facts, &card), ElementsAre("mig"));
  const DeviceInfo dry_device = dry();
  EXPECT_THAT(ids(facts, &dry_device), IsEmpty());
}

TEST(Doctor, ReportsABusyPartitionedOrSlowGpu) {
  MachineFacts facts = quiet();
  GpuFacts& card = facts.nvml->gpus[0];
  card.other_processes = 2;
  card.mig = true;
  card.persistence = false;
  card.slowed_by = {"the power cap", "heat (hardware)"};
  EXPECT_THAT(ids(facts), ElementsAre("gpu-shared", "mig", "gpu-slowed", "gpu-persistence"));
  EXPECT_THAT(diagnose(facts)[0].what, HasSubstr("2 other processes compute on NVIDIA H200"));
  EXPECT_THAT(diagnose(facts)[2].what, HasSubstr("the power cap, heat (hardware)"));
}

TEST(Doctor, AGpuOfTwoBackendsIsReportedOnce) {
  MachineFacts facts = quiet();
  DeviceInfo second = gpu();
  second.backend = Backend::opencl;
  facts.devices.devices.push_back(second);
  facts.nvml->gpus[0].other_processes = 1;
  EXPECT_THAT(ids(facts), ElementsAre("gpu-shared"));
  EXPECT_THAT(diagnose(facts)[0].what, HasSubstr("1 other process computes"));
}

TEST(Doctor, TwoGpusOfOneNameAreNotGuessed) {
  MachineFacts facts = quiet();
  facts.nvml->gpus.push_back(facts.nvml->gpus[0]);
  facts.nvml->gpus[1].mig = true;
  EXPECT_EQ(find_gpu(facts, gpu()), nullptr);
  EXPECT_THAT(ids(facts), IsEmpty());
}

TEST(Doctor, GpusOfOneNameAreDistinguishedByPciAddress) {
  MachineFacts facts = quiet();
  facts.nvml->gpus[0].pci = "0000:1a:00";
  facts.nvml->gpus.push_back(facts.nvml->gpus[0]);
  facts.nvml->gpus[1].pci = "0000:3b:00";
  facts.nvml->gpus[1].mig = true;
  facts.devices.devices[0].pci = "0000:3b:00";
  EXPECT_EQ(find_gpu(facts, facts.devices.devices[0]), &facts.nvml->gpus[1]);
  EXPECT_THAT(ids(facts), ElementsAre("mig"));
}

TEST(Doctor, ReportsABusyMachineAndADebugBuild) {
  MachineFacts facts = quiet();
  facts.governor = "powersave";
  facts.load_average = 4.1;
  facts.asserts = true;
  facts.build_type = "Debug";
  facts.sanitizers = "address";
  EXPECT_THAT(ids(facts), ElementsAre("cpu-governor", "load", "debug-build", "sanitizers"));
  facts.load_average = 4.0;
  EXPECT_THAT(ids(facts), ElementsAre("cpu-governor", "debug-build", "sanitizers"));
}

TEST(Doctor, TheMostSevereComesFirst) {
  MachineFacts facts = quiet();
  facts.governor = "powersave";
  facts.cupti.reset();
  facts.devices.reasons = {"opencl: no OpenCL loader"};
  EXPECT_THAT(ids(facts), ElementsAre("backend-without-device", "no-cupti", "cpu-governor"));
  EXPECT_EQ(to_string(diagnose(facts)[0].effect), "device");
  EXPECT_EQ(to_string(diagnose(facts)[2].effect), "timing");
}

TEST(Doctor, InspectsThisMachine) {
  const MachineFacts facts = gather_machine_facts();
  EXPECT_GT(facts.cpus, 0);
  ASSERT_FALSE(facts.devices.devices.empty());
  EXPECT_EQ(facts.devices.devices.back().backend, Backend::dry);
}

}  // namespace
}  // namespace peakmark
