// Plain OpenCL code, unchanged: it has its own buffers and its own queue.
#include <peakmark/opencl.hpp>

#include "test_worker.hpp"

namespace {

using namespace peakmark;

constexpr const char* kSource =
    "kernel void twice(global const float* in, global float* out) { out[get_global_id(0)] = 2 * "
    "in[get_global_id(0)]; }";

/// All buffers are made with clCreateBuffer; the queue is peakmark's.
class Raw : public Computation {
 public:
  Raw(Device& device, const Case& asked) : device_(device), n_(static_cast<std::size_t>(asked["n"])) {}
  ~Raw() override {
    for (cl_mem memory : {in_, out_}) {
      if (memory != nullptr) clReleaseMemObject(memory);
    }
  }
  void set_up() override { kernel_ = opencl::compile(device_, kSource, "twice"); }
  void create_inputs() override {
    in_ = create(CL_MEM_READ_ONLY);
    device_.name_allocation(in_, "input");
    const std::vector<float> ones(n_, 1.5F);
    opencl::check(
        clEnqueueWriteBuffer(queue(), in_, CL_TRUE, 0, n_ * sizeof(float), ones.data(), 0, nullptr, nullptr),
        "clEnqueueWriteBuffer");
  }
  void create_outputs() override { out_ = create(CL_MEM_READ_WRITE); }
  void call() override {
    opencl::check(clSetKernelArg(kernel_, 0, sizeof(in_), &in_), "clSetKernelArg");
    opencl::check(clSetKernelArg(kernel_, 1, sizeof(out_), &out_), "clSetKernelArg");
    opencl::check(clEnqueueNDRangeKernel(queue(), kernel_, 1, nullptr, &n_, nullptr, 0, nullptr, nullptr),
                  "clEnqueueNDRangeKernel");
  }
  std::string verify() override {
    std::vector<float> result(n_);
    opencl::check(clEnqueueReadBuffer(queue(), out_, CL_TRUE, 0, n_ * sizeof(float), result.data(), 0,
                                      nullptr, nullptr),
                  "clEnqueueReadBuffer");
    return result == std::vector<float>(n_, 3) ? "" : "it is not 3 everywhere";
  }

 protected:
  [[nodiscard]] virtual cl_command_queue queue() const { return device_.opencl_queue(); }
  [[nodiscard]] const Device& device() const { return device_; }

 private:
  [[nodiscard]] cl_mem create(cl_mem_flags flags) const {
    cl_int code = CL_SUCCESS;
    cl_mem memory = clCreateBuffer(device_.opencl_context(), flags, n_ * sizeof(float), nullptr, &code);
    opencl::check(code, "clCreateBuffer");
    return memory;
  }

  Device& device_;
  std::size_t n_;
  opencl::Kernel kernel_;
  cl_mem in_ = nullptr;
  cl_mem out_ = nullptr;
};

/// The queue is its own, so `call` waits for it.
class OwnQueue final : public Raw {
 public:
  OwnQueue(Device& device, const Case& asked) : Raw(device, asked) {}
  ~OwnQueue() override {
    if (queue_ != nullptr) clReleaseCommandQueue(queue_);
  }
  void set_up() override {
    Raw::set_up();
    cl_int code = CL_SUCCESS;
    queue_ = clCreateCommandQueue(device().opencl_context(), device().opencl_device(), 0, &code);
    opencl::check(code, "clCreateCommandQueue");
  }
  void call() override {
    Raw::call();
    opencl::check(clFinish(queue_), "clFinish");
  }

 private:
  [[nodiscard]] cl_command_queue queue() const override { return queue_; }
  cl_command_queue queue_ = nullptr;
};

/// Returns the message of what `function` throws.
template <typename Function>
std::string message_of(Function&& function) {
  try {
    function();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

/// Launches with both kinds of arrays, and with arguments that are not valid.
class Launched final : public Computation {
 public:
  Launched(Device& device, const Case& asked) : device_(device), n_(asked["n"]) {}
  void set_up() override { kernel_ = opencl::compile(device_, kSource, "twice"); }
  void create_inputs() override {
    in_ = device_.create<float>("input", {n_});
    in_.fill(1.5);
  }
  void create_outputs() override { out_ = device_.create("output", {n_}, "f32"); }
  void call() override { opencl::launch(device_, kernel_, {static_cast<std::size_t>(n_)}, in_, out_); }
  std::string verify() override {
    if (out_.read<float>() != std::vector<float>(static_cast<std::size_t>(n_), 3))
      return "it is not 3 everywhere";
    const std::string number = message_of([&] { opencl::launch(device_, kernel_, {1}, in_, char{1}); });
    if (number != "clSetKernelArg, argument 1: CL_INVALID_ARG_SIZE (-51)") return number;
    const std::string none = message_of([&] { opencl::launch(device_, kernel_, {1}, DeviceArray(), out_); });
    return none == "clSetKernelArg, argument 0: the array has not been created" ? "" : none;
  }

 private:
  Device& device_;
  Size n_;
  opencl::Kernel kernel_;
  Array<float> in_;
  DeviceArray out_;
};

constexpr const char* kSetSource = "kernel void set(global float* data, long index) { data[index] = 5; }";

/// Writes an element of its output, or one next to an array: `side` says where.
class Outside final : public Computation {
 public:
  Outside(Device& device, const Case& asked) : device_(device), n_(asked["n"]), side_(asked.word("side")) {}
  void set_up() override { kernel_ = opencl::compile(device_, kSetSource, "set"); }
  void create_inputs() override { in_ = device_.create<float>("input", {n_}); }
  void create_outputs() override { out_ = device_.create<float>("output", {n_}); }
  void call() override {
    auto temporary = device_.create<float>("temporary", {n_});
    set(temporary, side_ == "temporary" ? n_ + 1 : 0);
    set(out_, side_ == "after" ? n_ : side_ == "before" ? -1 : 0);
  }
  std::string verify() override { return ""; }

 private:
  void set(Array<float>& array, Size index) { opencl::launch(device_, kernel_, {1}, array, index); }

  Device& device_;
  Size n_;
  std::string side_;
  opencl::Kernel kernel_;
  Array<float> in_;
  Array<float> out_;
};

/// Writes the second half of its output by a sub-buffer, which it creates in each call. Sub-buffers that
/// OpenCL does not allow must fail with guards as well.
class Halves final : public Computation {
 public:
  Halves(Device& device, const Case& asked) : device_(device), n_(asked["n"]) {}
  void set_up() override { kernel_ = opencl::compile(device_, kSetSource, "set"); }
  void create_inputs() override {}
  void create_outputs() override { (out_ = device_.create<float>("output", {2 * n_})).fill(0); }
  void call() override {
    const auto bytes = static_cast<std::size_t>(4 * n_);
    cl_mem half = part(out_.opencl(), bytes, bytes);
    opencl::check(clSetKernelArg(kernel_, 0, sizeof(half), &half), "clSetKernelArg");
    const cl_long index = 0;
    opencl::check(clSetKernelArg(kernel_, 1, sizeof(index), &index), "clSetKernelArg");
    const std::size_t one = 1;
    opencl::check(clEnqueueNDRangeKernel(device_.opencl_queue(), kernel_, 1, nullptr, &one, nullptr, 0,
                                         nullptr, nullptr),
                  "clEnqueueNDRangeKernel");
    nested_ = message_of([&] { part(half, 0, bytes / 2); });
    outside_ = message_of([&] { part(out_.opencl(), bytes, bytes + 128); });
    clReleaseMemObject(half);
  }
  std::string verify() override {
    if (nested_.empty()) return "a sub-buffer of a sub-buffer was created";
    if (outside_.empty()) return "a sub-buffer was created that ends after the array";
    std::vector<float> expected(static_cast<std::size_t>(2 * n_));
    expected.at(static_cast<std::size_t>(n_)) = 5;
    return out_.read() == expected ? "" : "only the first element of the second half must be 5";
  }

 private:
  static cl_mem part(cl_mem whole, std::size_t origin, std::size_t bytes) {
    const cl_buffer_region region{origin, bytes};
    cl_int code = CL_SUCCESS;
    cl_mem memory = clCreateSubBuffer(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    opencl::check(code, "clCreateSubBuffer");
    return memory;
  }

  Device& device_;
  Size n_;
  opencl::Kernel kernel_;
  Array<float> out_;
  std::string nested_;
  std::string outside_;
};

Variant raw(const char* name) {
  return {.name = name,
          .backends = {"opencl"},
          .axes = {{"n", 1000}},
          .slice_axis = "n",
          .estimators = {Estimator::of_bytes([](const Case& asked) { return 8 * asked["n"]; })}};
}

}  // namespace

void add_opencl(Worker& worker) {
  worker.add<Raw>(raw("opencl/raw"));
  worker.add<OwnQueue>(raw("opencl/own_queue"));
  worker.add<Launched>(raw("opencl/launched"));
  worker.add<Outside>(
      {.name = "opencl/outside",
       .backends = {"opencl"},
       .axes = {{"n", 1000}, {"side", "nowhere", {"nowhere", "before", "after", "temporary"}}},
       .slice_axis = "n"});
  worker.add<Halves>(
      {.name = "opencl/halves", .backends = {"opencl"}, .axes = {{"n", 1024}}, .slice_axis = "n"});
  worker.add(raw("opencl/no_kernel"), [](Device& device, const Case&) {
    return Steps{.set_up = [&device] { const auto kernel = opencl::compile(device, "no kernel", "none"); },
                 .call = [] {},
                 .verify = [] { return std::string(); }};
  });
}
