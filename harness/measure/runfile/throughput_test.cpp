#include "measure/runfile/throughput.hpp"

#include <gmock/gmock.h>

#include "measure/runfile/json_fields.hpp"
#include "measure/runfile/observation_json.hpp"

namespace peakmark {
namespace {

using testing::DoubleEq;
using testing::Optional;

/// A case that moves 3 MB in 1 us.
Observation three_terabytes_a_second() {
  Observation observation;
  observation.bytes_moved = 3'000'000;
  observation.gpu_time = GpuTime{1000, 900, 1100, {{900, 1000, 1100}}};
  return observation;
}

TEST(Throughput, IsOfTheMedianTime) {
  const Throughput throughput = throughput_of(three_terabytes_a_second(), {});
  EXPECT_THAT(throughput.bytes_per_second, Optional(DoubleEq(3e12)));
  EXPECT_EQ(throughput.share_of_copy, std::nullopt) << "the run has no reference copy";
  EXPECT_EQ(throughput.share_of_peak, std::nullopt) << "NVML reports no clocks";
  EXPECT_EQ(throughput.flops_per_second, std::nullopt) << "the variant declares none";
}

TEST(Throughput, IsAShareOfTheRunsOwnCopy) {
  RunContext context;
  context.reference.copy_bytes = Size{128} << 20;
  context.reference.copy_ns = {50'000, 1, 99'000'000};
  EXPECT_THAT(copy_bandwidth(context), Optional(DoubleEq(134217728 / 50e-6)));
  EXPECT_THAT(throughput_of(three_terabytes_a_second(), context).share_of_copy,
              Optional(DoubleEq(3e12 / (134217728 / 50e-6))));
  context.reference.copy_bytes = 1000;
  EXPECT_THAT(copy_bandwidth(context), Optional(DoubleEq(1000 / 50e-6)));
  context.reference.copy_bytes.reset();
  EXPECT_EQ(copy_bandwidth(context), std::nullopt);
}

// NVIDIA's data sheet of the H100 SXM: 3.35 TB/s; its HBM3 at 2619 MHz on 5120 bits.
TEST(Throughput, IsAShareOfTheTheoreticalBandwidth) {
  RunContext context;
  context.clocks.max_memory_mhz = 2619;
  EXPECT_EQ(peak_bandwidth(context.clocks), std::nullopt);
  context.clocks.memory_bus_bits = 5120;
  EXPECT_THAT(peak_bandwidth(context.clocks), Optional(testing::DoubleNear(3.352e12, 1e9)));
  EXPECT_THAT(throughput_of(three_terabytes_a_second(), context).share_of_peak,
              Optional(testing::DoubleNear(0.895, 0.001)));
}

TEST(Throughput, HasFlopsWhereTheVariantDeclaresThem) {
  Observation observation = three_terabytes_a_second();
  observation.flops = 5e6;
  EXPECT_THAT(throughput_of(observation, {}).flops_per_second, Optional(DoubleEq(5e12)));
}

TEST(Throughput, IsUnknownWithoutTimeOrBytesNeverZero) {
  Observation observation = three_terabytes_a_second();
  observation.gpu_time.reset();
  EXPECT_EQ(throughput_of(observation, {}), Throughput{});
  observation = three_terabytes_a_second();
  observation.bytes_moved.reset();
  EXPECT_EQ(throughput_of(observation, {}), Throughput{});
  observation = three_terabytes_a_second();
  observation.gpu_time->median_ns = 0;  // below the resolution of the device's clock
  EXPECT_EQ(throughput_of(observation, {}), Throughput{});
  EXPECT_TRUE(to_json(Throughput{}).at("bytes_per_second").is_null());
  EXPECT_EQ(gigabytes_text(std::nullopt), "–");
  EXPECT_EQ(share_text(std::nullopt), "–");
}

TEST(Throughput, IsWrittenInGigabytesASecond) {
  EXPECT_EQ(gigabytes_text(3.3521e12), "3352");
  EXPECT_EQ(gigabytes_text(9.8764e9), "9.876");
  EXPECT_EQ(share_text(0.9712), "0.97");
}

}  // namespace
}  // namespace peakmark
