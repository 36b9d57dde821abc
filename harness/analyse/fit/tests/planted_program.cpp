// planted_program BEHAVIOUR FILE: creates three OpenCL buffers of 64, 128 and 32 KiB, fills each, and writes
// a result to FILE. BEHAVIOUR is its reaction to a refused buffer, for the tests of `peakmark oom`.
#include <CL/cl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kSizes[] = {64 << 10, 128 << 10, 32 << 10};

struct Program {
  std::string behaviour;
  std::string file;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  std::vector<cl_mem> buffers;
  cl_int error = CL_SUCCESS;

  /// Returns null if the buffer, or the first command that uses it, is refused.
  cl_mem create(std::size_t bytes) {
    cl_mem const buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, nullptr, &error);
    if (buffer == nullptr) return nullptr;
    const char zero = 0;
    error = clEnqueueFillBuffer(queue, buffer, &zero, 1, 0, bytes, 0, nullptr, nullptr);
    if (error == CL_SUCCESS) return buffer;
    clReleaseMemObject(buffer);
    return nullptr;
  }
  void release() {
    for (cl_mem buffer : buffers) clReleaseMemObject(buffer);
    buffers.clear();
  }
  [[noreturn]] void end(int code, const char* message) {
    std::fprintf(stderr, "%s\n", message);
    release();
    std::exit(code);
  }
  void write(const std::string& result) const { std::ofstream(file) << result << "\n"; }
};

/// Writes to address 0, because raise(SIGSEGV) returns under the handlers that PoCL installs.
__attribute__((no_sanitize("undefined"))) void crash() {
  volatile int* volatile nowhere = nullptr;
  *nowhere = 1;  // NOLINT(clang-analyzer-core.NullDereference)
}

void refused(Program& program, std::size_t index) {
  const std::string& behaviour = program.behaviour;
  const std::size_t bytes = kSizes[index];
  if (behaviour == "handled") program.end(1, "error: out of device memory");
  if (behaviour == "handled_code") program.end(2, "clCreateBuffer failed: CL_MEM_OBJECT_ALLOCATION_FAILURE");
  if (behaviour == "silent_exit") program.end(3, "");
  if (behaviour == "misleading") program.end(1, "error: invalid image format");
  if (behaviour == "abort") std::abort();
  if (behaviour == "handled_leak") {
    std::fprintf(stderr, "error: out of device memory\n");
    std::exit(1);
  }
  if (behaviour == "lock") {
    std::ofstream(program.file + ".lock") << "held\n";
    std::abort();
  }
  if (behaviour == "crash") crash();
  if (behaviour == "hang") {
    for (;;) ::pause();
  }
  if (behaviour == "persist") {
    cl_mem buffer = nullptr;
    while ((buffer = program.create(bytes)) == nullptr)
      ::usleep(1000);  // each attempt is an event in the profile
    program.buffers.push_back(buffer);
  }
  if (behaviour == "retry") program.buffers.push_back(program.create(bytes));
  if (behaviour == "collect") {
    program.release();
    cl_mem const buffer = program.create(bytes);
    if (buffer == nullptr) program.end(1, "error: out of device memory");
    program.buffers.push_back(buffer);
  }
  if (behaviour == "retry_or_wrong") {
    cl_mem const buffer = program.create(bytes);
    if (buffer != nullptr) return program.buffers.push_back(buffer);
    program.write("0");
    program.release();
    std::exit(0);
  }
  if (behaviour == "smaller") {
    program.buffers.push_back(program.create(bytes / 2));
  }
  if (behaviour == "leak") {
    // The buffers so far are never released.
    program.buffers.clear();
    program.buffers.push_back(program.create(bytes));
  }
  if (behaviour == "wrong") {
    program.write("0");
    program.release();
    std::exit(0);
  }
  if (behaviour == "no_result") program.end(0, "skipped");
  if (behaviour == "without" || behaviour == "host") return;  // continues without the buffer
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 64;
  Program program{argv[1], argv[2], nullptr, nullptr, {}, CL_SUCCESS};
  ::unlink(argv[2]);
  if (std::ifstream(program.file + ".lock")) program.end(70, "another process holds the lock");
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  if (clGetPlatformIDs(1, &platform, nullptr) != CL_SUCCESS) return 65;
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) != CL_SUCCESS) return 66;
  program.context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &program.error);
  if (program.context == nullptr) return 67;
  program.queue = clCreateCommandQueueWithProperties(program.context, device, nullptr, &program.error);
  if (program.queue == nullptr) return 68;
  // The order differs in every run, so an allocation with this number may not exist.
  const bool is_short = program.behaviour == "random" && std::getenv("PEAKMARK_REFUSE") != nullptr;
  for (std::size_t index = 0; index < (is_short ? 1 : 3); ++index) {
    cl_mem const buffer = program.create(kSizes[index]);
    if (buffer != nullptr)
      program.buffers.push_back(buffer);
    else
      refused(program, index);
  }
  program.write("42");
  program.release();
  clReleaseCommandQueue(program.queue);
  clReleaseContext(program.context);
  return 0;
}
