#pragma once

// The kernels and variables of a module's image, as far as its format is documented: PTX and ELF.
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace fake_cuda {

struct ModuleImage {
  struct Kernel {
    std::string name;
    int registers = 32;  ///< assumed if the image does not specify it
    int shared_bytes = 0;
  };
  /// False: another format, such as the fat binaries of nvcc.
  bool is_known = false;
  std::vector<Kernel> kernels;
  std::vector<std::pair<std::string, std::size_t>> globals;  ///< names and bytes
};

/// Reads an image in the form that cuModuleLoadData accepts: its format contains its size.
ModuleImage read_image(const void* image);

}  // namespace fake_cuda
