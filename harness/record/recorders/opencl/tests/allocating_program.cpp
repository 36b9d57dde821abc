// A program without any code for the recorder, on which `peakmark record` is tested.
//   allocating_program WHAT
// touch       requests the platforms, allocates nothing
// leak        a buffer of 1000 bytes, released; one of 500, not
// global      a buffer of 1000 bytes, released by the destructor of a global; one of 500, not
// exit N      a buffer of 100 bytes, exit code N
// held        20 buffers of 1 MB, each released before the kernel that writes it has run
// fork        a buffer of 300 bytes, and one of 400 in a forked child
// child       nothing, and a buffer of 400 bytes in a forked child, which is the first to call OpenCL
// replace     a buffer of 300 bytes, then executes itself with `leak` in its place
// grows FILE  as many buffers of 1000 bytes as there were runs, which FILE counts
// many [N]    20000, or N, buffers of 100 bytes, one after the other
// crash       a buffer of 100 bytes, then writes to address 0
// killed      a buffer of 100 bytes, then SIGKILL to itself
// background  a child that outlives it and waits until its standard input ends; no device
// tree        a buffer of 300 bytes, held while a forked child holds one of 400 and a program that the child
//             starts (this one, `leak`) one of 1000
// interrupt   a buffer of 700 bytes, then waits for SIGINT, and prints when it continues after a stop
#include <CL/cl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

cl_device_id device = nullptr;
cl_context context = nullptr;

cl_mem buffer(std::size_t bytes) {
  cl_int result = CL_SUCCESS;
  const cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, nullptr, &result);
  if (result != CL_SUCCESS) std::exit(99);
  return memory;
}

struct Global {
  cl_mem memory = nullptr;
  ~Global() {
    if (memory != nullptr) clReleaseMemObject(memory);
  }
};
Global global;

/// Writes to address 0, because raise(SIGSEGV) returns under the handlers that PoCL installs. A sanitizer
/// would end the program normally.
__attribute__((no_sanitize("undefined"))) void crash() {
  volatile int* volatile nowhere = nullptr;
  *nowhere = 1;  // NOLINT(clang-analyzer-core.NullDereference)
}

void hold() {
  const cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, nullptr, nullptr);
  const char* source =
      "__kernel void work(__global float* p) { float s = 1; for (int i = 0; i < 500; ++i) s = sin(s) + i;"
      " p[get_global_id(0)] = s; }";
  const cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, nullptr);
  if (clBuildProgram(program, 1, &device, "", nullptr, nullptr) != CL_SUCCESS) std::exit(98);
  const cl_kernel kernel = clCreateKernel(program, "work", nullptr);
  for (int i = 0; i < 20; ++i) {
    const cl_mem memory = buffer(1'000'000);
    const std::size_t items = 256;
    clSetKernelArg(kernel, 0, sizeof(cl_mem), &memory);
    if (clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, nullptr, 0, nullptr, nullptr) !=
        CL_SUCCESS) {
      std::exit(97);
    }
    clReleaseMemObject(memory);
  }
  clFinish(queue);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  // This is done before the driver starts threads, which inherit the blocked signals.
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  sigaddset(&interrupt, SIGCONT);
  if (what == "interrupt") sigprocmask(SIG_BLOCK, &interrupt, nullptr);
  if (what == "background") {
    if (fork() == 0) {
      char sign = 0;
      while (read(STDIN_FILENO, &sign, 1) > 0) {
      }
    }
    return 0;
  }
  if (what == "child") {
    const pid_t child = fork();
    if (child != 0) {
      waitpid(child, nullptr, 0);
      return 0;
    }
  }
  cl_platform_id platform = nullptr;
  if (clGetPlatformIDs(1, &platform, nullptr) != CL_SUCCESS) return 96;
  if (what == "touch") return 0;
  clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr);
  context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
  if (what == "leak") {
    clReleaseMemObject(buffer(1000));
    buffer(500);
    std::puts("said by the program");
  } else if (what == "global") {
    global.memory = buffer(1000);
    buffer(500);
  } else if (what == "exit") {
    buffer(100);
    return std::atoi(argv[2]);
  } else if (what == "held") {
    hold();
  } else if (what == "fork") {
    buffer(300);
    const pid_t child = fork();
    if (child == 0) {
      buffer(400);
      std::exit(0);
    }
    waitpid(child, nullptr, 0);
  } else if (what == "child") {
    buffer(400);
  } else if (what == "tree") {
    buffer(300);
    const pid_t child = fork();
    if (child == 0) {
      buffer(400);
      const pid_t grandchild = fork();
      if (grandchild == 0) execl(argv[0], argv[0], "leak", nullptr);
      waitpid(grandchild, nullptr, 0);
      std::exit(0);
    }
    waitpid(child, nullptr, 0);
  } else if (what == "replace") {
    buffer(300);
    execl(argv[0], argv[0], "leak", nullptr);
  } else if (what == "grows") {
    std::ofstream(argv[2], std::ios::app) << "x";
    for (std::uintmax_t run = 0; run < std::filesystem::file_size(argv[2]); ++run) buffer(1000);
  } else if (what == "many") {
    const int count = argc > 2 ? std::atoi(argv[2]) : 20'000;
    for (int i = 0; i < count; ++i) clReleaseMemObject(buffer(100));
  } else if (what == "crash") {
    buffer(100);
    crash();
  } else if (what == "killed") {
    buffer(100);
    kill(getpid(), SIGKILL);
  } else if (what == "interrupt") {
    buffer(700);
    std::puts("ready");
    std::fflush(stdout);
    int signal = 0;
    while (sigwait(&interrupt, &signal) == 0 && signal == SIGCONT) {
      std::puts("goes on");
      std::fflush(stdout);
    }
    return 40 + signal;
  }
  return 0;
}
