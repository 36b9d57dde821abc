#include "base/cuda_folders.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files_testing.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

using testing::ElementsAre;
using testing::IsSupersetOf;

constexpr const char* kVariables[] = {"CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV"};
constexpr const char* kStub = "libpeakmark-test-stub.so.1";

/// A folder with toolkits and pip packages. No variable is set that names another folder.
class CudaFolders : public testing::Test {
 protected:
  CudaFolders() {
    for (const char* name : kVariables) unsetenv(name);
  }
  ~CudaFolders() override {
    for (const char* name : kVariables) unsetenv(name);
  }

  /// Puts a library with this name into a folder below the test's folder.
  [[nodiscard]] fs::path put(const fs::path& folder, const char* name = kStub) const {
    fs::create_directories(root() / folder);
    fs::copy_file(PEAKMARK_FAKE_LAYER, root() / folder / name);
    return root() / folder / name;
  }
  void set(const char* variable, const fs::path& folder) const {
    setenv(variable, (root() / folder).c_str(), 1);
  }
  [[nodiscard]] fs::path root() const { return fs::canonical(folder_.path()); }

  /// Returns the path of the library that is loaded when this name is asked for, or an empty text if there is
  /// none.
  static fs::path loaded(const std::string& name) {
    void* const library = load_cuda_library(name, RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) return {};
    link_map* map = nullptr;
    EXPECT_EQ(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
    fs::path path = fs::canonical(map->l_name);
    dlclose(library);
    return path;
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(CudaFolders, TheUsualPlaceIsAlwaysAmongThem) {
  EXPECT_THAT(cuda_library_folders(), IsSupersetOf({"/usr/local/cuda/lib64", "/usr/local/cuda/lib",
                                                    "/usr/local/cuda/targets/x86_64-linux/lib",
                                                    "/usr/local/cuda/extras/CUPTI/lib64"}));
}

TEST_F(CudaFolders, ALibraryThatIsNowhereIsNull) {
  for (const char* name : kVariables) set(name, "none");
  EXPECT_EQ(loaded(kStub), fs::path());
}

TEST_F(CudaFolders, ALibraryThatTheLoaderFindsIsTaken) {
  EXPECT_EQ(loaded("libc.so.6").filename(), "libc.so.6");
}

TEST_F(CudaFolders, AToolkitIsSearchedInCudaHomeAndCudaPath) {
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    for (const char* folder : {"lib64", "lib", "targets/x86_64-linux/lib", "extras/CUPTI/lib64"}) {
      const fs::path library = put(fs::path(variable) / folder);
      set(variable, variable);
      EXPECT_EQ(loaded(kStub), library);
      fs::remove(library);
    }
    unsetenv(variable);
  }
}

TEST_F(CudaFolders, PipPackagesOfTheVirtualEnvironmentAreSearched) {
  for (const char* package : {"cu13", "cufft", "cuda_nvrtc", "cuda_cupti"}) {
    const fs::path library = put(fs::path("lib/python3.12/site-packages/nvidia") / package / "lib");
    EXPECT_EQ(loaded(kStub), fs::path());
    set("VIRTUAL_ENV", "");
    EXPECT_EQ(loaded(kStub), library);
    unsetenv("VIRTUAL_ENV");
    fs::remove(library);
  }
}

TEST_F(CudaFolders, PipPackagesNextToALoadedLibraryOfCudaAreSearched) {
  const fs::path library = put("site-packages/nvidia/cuda_cupti/lib");
  const fs::path runtime = put("site-packages/nvidia/cuda_runtime/lib", "libcudart.so.12");
  EXPECT_EQ(loaded(kStub), fs::path());
  void* const cudart = dlopen(runtime.c_str(), RTLD_LAZY | RTLD_LOCAL);
  ASSERT_NE(cudart, nullptr);
  EXPECT_EQ(loaded(kStub), library);
  dlclose(cudart);
}

TEST_F(CudaFolders, TheCallersFoldersComeFirstAndEachIsSearchedForAllNames) {
  const std::vector<std::string> files = cuda_library_files({"new.so", "old.so"}, {"/own"});
  EXPECT_THAT(std::vector<std::string>(files.begin(), files.begin() + 4),
              ElementsAre("new.so", "old.so", "/own/new.so", "/own/old.so"));
  EXPECT_EQ(files.size(), 2 * (2 + cuda_library_folders().size()));
}

}  // namespace
}  // namespace peakmark
