// For tests: does what the CUDA driver does when it comes up in a program, and nothing else.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

int main() {
  const char* const path = std::getenv("CUDA_INJECTION64_PATH");
  void* const library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 0;  // the driver says nothing either
  const auto initialise = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  if (initialise != nullptr) initialise();
  std::puts("goes on");
  return 0;
}
