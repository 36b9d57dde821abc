// Sums n numbers with an own kernel and with CUB: ordinary CUDA code with cudaMalloc and its own stream. Only
// the classes around it are for peakmark.
#include <cmath>
#include <cub/device/device_reduce.cuh>
#include <peakmark/cuda.hpp>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace peakmark;

constexpr int kThreads = 256;

/// Each block writes the sum of its share of `in`.
__global__ void sum_by_blocks(const float* in, long long n, float* sums) {
  __shared__ float shared[kThreads];
  float sum = 0;
  const long long step = static_cast<long long>(gridDim.x) * kThreads;
  for (long long i = static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x; i < n; i += step)
    sum += in[i];
  shared[threadIdx.x] = sum;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = shared[0];
}

/// Owns memory of cudaMalloc, which has a name in reports.
template <typename T>
class Memory {
 public:
  Memory() = default;
  Memory(Device& device, std::size_t count, const char* name) {
    check_cuda(cudaMalloc(&data_, count * sizeof(T)), "cudaMalloc");
    device.name_allocation(data_, name);
  }
  Memory(Memory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  Memory& operator=(Memory&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~Memory() { cudaFree(data_); }
  [[nodiscard]] T* get() const { return data_; }

 private:
  T* data_ = nullptr;
};

/// Input, output and verification of both variants.
class Sum : public Computation {
 public:
  Sum(Device& device, const Case& c) : device_(device), n_(static_cast<std::size_t>(c["n"])) {
    check_cuda(cudaStreamCreate(&stream_), "cudaStreamCreate");
  }
  ~Sum() override { cudaStreamDestroy(stream_); }

  void create_inputs() override {
    std::vector<float> host(n_);
    for (std::size_t i = 0; i < n_; ++i) host[i] = static_cast<float>(i % 10);
    in_ = {device_, n_, "in"};
    check_cuda(cudaMemcpy(in_.get(), host.data(), n_ * sizeof(float), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  void create_outputs() override { out_ = {device_, 1, "out"}; }

  std::string verify() override {
    float sum = 0;
    check_cuda(cudaMemcpy(&sum, out_.get(), sizeof(sum), cudaMemcpyDeviceToHost), "cudaMemcpy");
    double expected = 0;
    for (std::size_t i = 0; i < n_; ++i) expected += static_cast<double>(i % 10);
    // A tree of sums with few terms per thread: one rounding for each level and each term.
    if (std::abs(sum - expected) <= 1e-4 * expected) return "";
    return "the sum is " + std::to_string(sum) + " instead of " + std::to_string(expected);
  }
  [[nodiscard]] std::optional<Size> bytes_moved() const override {
    return static_cast<Size>(n_ * sizeof(float));
  }

 protected:
  /// Waits for the stream, because peakmark does not know it.
  void wait() const { check_cuda(cudaStreamSynchronize(stream_), "the sum"); }

  Device& device_;
  std::size_t n_;
  cudaStream_t stream_ = nullptr;
  Memory<float> in_, out_;
};

class TwoKernels final : public Sum {
 public:
  using Sum::Sum;
  static constexpr int kBlocks = 1024;
  void set_up() override { sums_ = {device_, kBlocks, "sums of blocks"}; }
  void call() override {
    sum_by_blocks<<<kBlocks, kThreads, 0, stream_>>>(in_.get(), static_cast<long long>(n_), sums_.get());
    sum_by_blocks<<<1, kThreads, 0, stream_>>>(sums_.get(), kBlocks, out_.get());
    check_cuda(cudaGetLastError(), "sum_by_blocks");
    wait();
  }

 private:
  Memory<float> sums_;
};

/// CUB's temporary memory is allocated in the call and recorded. Only CUB knows its size.
class ByCub final : public Sum {
 public:
  using Sum::Sum;
  void call() override {
    std::size_t bytes = 0;
    check_cuda(reduce(nullptr, bytes), "cub::DeviceReduce::Sum");
    const Memory<char> work(device_, bytes, "CUB's");
    check_cuda(reduce(work.get(), bytes), "cub::DeviceReduce::Sum");
    wait();
  }

 private:
  cudaError_t reduce(void* work, std::size_t& bytes) const {
    return cub::DeviceReduce::Sum(work, bytes, in_.get(), out_.get(), static_cast<long long>(n_), stream_);
  }
};

Variant variant(const std::string& name, const std::string& help) {
  return {.name = name, .backends = {"cuda"}, .axes = {{"n", 1 << 20, "numbers", 1}}, .help = help};
}

}  // namespace

int main(int argc, char** argv) {
  Variant two_kernels = variant("sum/two_kernels", "one sum per block, then the sum of these");
  two_kernels.slice_axis = "n";
  two_kernels.estimators = {Estimator::of_parts([](const Case&) -> std::vector<Part> {
    return {{"in", 4}, {"sums of blocks", 0, 4 * TwoKernels::kBlocks}, {"out", 0, 4}};
  })};
  return Worker("sum 1")
      .add<TwoKernels>(two_kernels)
      .add<ByCub>(variant("sum/cub", "cub::DeviceReduce::Sum"))
      .run(argc, argv);
}
