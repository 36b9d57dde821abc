#include "record/recorders/elf_file.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "base/files_testing.hpp"

namespace peakmark {
namespace {

TEST(ElfFile, WhatIsNoElfFileDefinesNothing) {
  const TemporaryFolder folder;
  const std::string text = folder.path() / "text";
  std::ofstream(text) << "clGetPlatformIDs OPENCL_LAYERS";
  for (const std::string& path :
       {text, text + ".missing", std::string(folder.path()), std::string("/dev/null")}) {
    EXPECT_FALSE(ElfFile(path.c_str()).defines("clGetPlatformIDs")) << path;
  }
  EXPECT_TRUE(supports_layers(ElfFile(text.c_str())));
}

TEST(ElfFile, DefinedFunctions) {
  Dl_info info{};
  ASSERT_NE(dladdr(reinterpret_cast<const void*>(&dlopen), &info), 0);
  const ElfFile library(info.dli_fname);
  EXPECT_TRUE(library.defines("dlopen"));
  EXPECT_FALSE(library.defines("dlope"));
  EXPECT_FALSE(library.defines("clGetPlatformIDs"));
  EXPECT_FALSE(has_opencl_loader(library));
  EXPECT_FALSE(is_opencl_driver(library));
  EXPECT_FALSE(
      ElfFile("/proc/self/exe").defines("dladdr"));  // it only calls that; TSan has a dlopen of its own
}

/// The file ends inside its tables, like one that is still being written.
TEST(ElfFile, AFileThatIsCut) {
  Dl_info info{};
  ASSERT_NE(dladdr(reinterpret_cast<const void*>(&dlopen), &info), 0);
  std::ifstream whole(info.dli_fname, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(whole), {}};
  const TemporaryFolder folder;
  const std::string path = folder.path() / "cut";
  for (const std::size_t kept :
       {std::size_t{20}, std::size_t{64}, std::size_t{5000}, bytes.size() / 2, bytes.size() - 100}) {
    std::ofstream(path, std::ios::binary) << bytes.substr(0, kept);
    EXPECT_FALSE(ElfFile(path.c_str()).defines("dlopen")) << kept;  // the list of sections is at its end
  }
}

}  // namespace
}  // namespace peakmark
