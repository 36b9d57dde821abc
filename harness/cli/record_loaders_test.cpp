// With two OpenCL loaders in one process, `record` counts both, or says which it cannot count.
#include <dlfcn.h>
#include <link.h>

#include <filesystem>

#include "cli/record_command_testing.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class RecordLoaders : public RecordCommand {
 protected:
  static std::string system_loader() {
    void* const loader = dlopen("libOpenCL.so.1", RTLD_LAZY);
    link_map* map = nullptr;
    return loader != nullptr && dlinfo(loader, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : "";
  }

  /// A copy of the system's loader under another name, as Python wheels bring it. Under the same name it
  /// would be taken for the system's loader.
  std::string private_loader() const {
    std::string library = text(system_loader());
    const std::string name = "libOpenCL.so.1";
    const std::string other = "libOpenCL-p.so";
    EXPECT_EQ(name.size(), other.size());
    for (std::size_t at = 0; (at = library.find(name, at)) != std::string::npos;) {
      library.replace(at, name.size(), other);
    }
    std::ofstream(file("libOpenCL-p.so"), std::ios::binary) << library;
    return file("libOpenCL-p.so");
  }

  Result run(const std::string& loaders, const std::string& before = "") const {
    return record("-- " PEAKMARK_TWO_LOADERS_PROGRAM " " + loaders, before);
  }
};

TEST_F(RecordLoaders, TheSystemsLoaderIsReachedThoughNobodyAsksIt) {
  const Result result = run(private_loader() + " libOpenCL.so.1");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, IsEmpty());
  EXPECT_EQ(recorded(profile()).peak_bytes, 1500);
  EXPECT_EQ(recorded(profile()).live_at_end_bytes, 0);
}

TEST_F(RecordLoaders, APrivateLoaderThatComesLaterIsReachedOnceAQueueIsMade) {
  const Result result = run(system_loader() + " " + private_loader() + " again");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(recorded(profile()).peak_bytes, 1500);
}

TEST_F(RecordLoaders, AnUnseenLoaderIsReported) {
  const Result result = run(system_loader() + " " + private_loader());
  EXPECT_EQ(result.code, 5);
  EXPECT_THAT(result.err, HasSubstr("allocates through the OpenCL loader " + private_loader()));
  EXPECT_THAT(result.err, HasSubstr("LD_PRELOAD=" + system_loader()));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
  EXPECT_EQ(recorded(profile()).peak_bytes, 1000);
}

TEST_F(RecordLoaders, AnIncompleteProfileMayBeAllowed) {
  const std::string program =
      "-- " PEAKMARK_TWO_LOADERS_PROGRAM " " + system_loader() + " " + private_loader();
  const Result result = record("--allow-incomplete " + program);
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err, HasSubstr("allocates through the OpenCL loader " + private_loader()));
  EXPECT_GT(recorded(profile()).peak_bytes, 0);
  EXPECT_EQ(record("--allow-incomplete -- true").code, 5) << "there is no profile";
}

TEST_F(RecordLoaders, ALoaderWithoutLayersIsReported) {
  const Result result = run("libOpenCL.so.1 " PEAKMARK_UNLAYERED_LOADER " again");
  EXPECT_EQ(result.code, 5);
  EXPECT_THAT(result.err, HasSubstr("allocates through the OpenCL loader " PEAKMARK_UNLAYERED_LOADER));
}

TEST_F(RecordLoaders, ASystemWhoseLoaderKnowsNoLayersDoesNotConcernAPrivateOne) {
  std::filesystem::create_directory(file("old"));
  std::filesystem::copy_file(PEAKMARK_UNLAYERED_LOADER, file("old/libOpenCL.so.1"));
  const std::string old_system = "export LD_LIBRARY_PATH=" + file("old") + ";";
  const Result result = run(private_loader() + " " + private_loader() + " again", old_system);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, IsEmpty());
  EXPECT_EQ(recorded(profile()).peak_bytes, 1500);
  // A program that uses the old loader causes a note.
  const Result used = run(private_loader() + " libOpenCL.so.1 again", old_system);
  EXPECT_EQ(used.code, 5);
  EXPECT_THAT(used.err, HasSubstr("allocates through the OpenCL loader " + file("old/libOpenCL.so.1")));
}

TEST_F(RecordLoaders, OneThatIsHiddenBehindAnotherIsNot) {
  // AddressSanitizer normally has to be the first library of a program, but works without this here.
  const Result result =
      record("-- env LD_PRELOAD=" + system_loader() +
             " ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0 " PEAKMARK_TWO_LOADERS_PROGRAM
             " libOpenCL.so.1 " +
             private_loader() + " linked");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(recorded(profile()).peak_bytes, 1500);
}

TEST_F(RecordLoaders, WhyTheSystemsLoaderCannotBeLoadedIsSaid) {
  std::filesystem::create_directory(file("broken"));
  std::ofstream(file("broken/libOpenCL.so.1")) << "no library";
  const Result result = record("-- true", "export LD_LIBRARY_PATH=" + file("broken") + ";");
  EXPECT_EQ(result.code, 5);
  EXPECT_THAT(result.err, HasSubstr(file("broken/libOpenCL.so.1") + ": file too short"));
}

/// Programs that have small_driver.cpp as their only driver.
class RecordDrivers : public RecordLoaders {
 protected:
  /// A shell line that makes a driver the only one, also for loaders that read OCL_ICD_FILENAMES.
  std::string only(const std::string& driver) const {
    std::filesystem::create_directory(file("vendors"));
    std::ofstream(file("vendors/one.icd")) << driver << '\n';
    return "export OCL_ICD_VENDORS=" + file("vendors") + " OCL_ICD_FILENAMES=" + driver + ";";
  }
};

TEST_F(RecordDrivers, OneOfOpenCl10HasNoCallbacks) {
  const Result result = record("-- $PROGRAM leak", only(PEAKMARK_SMALL_DRIVER_1_0));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(recorded(profile()).peak_bytes, 1000);
  EXPECT_EQ(recorded(profile()).live_at_end_bytes, 500);
}

TEST_F(RecordDrivers, WhatIsDestroyedAtUnloadWasNotReleased) {
  for (const char* const what : {"leak", "global"}) {
    const Result result = record(std::string("-- $PROGRAM ") + what, only(PEAKMARK_SMALL_DRIVER));
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(recorded(profile()).peak_bytes, what == std::string("leak") ? 1000 : 1500);
    EXPECT_EQ(recorded(profile()).live_at_end_bytes, 500) << what;
  }
}

TEST_F(RecordDrivers, ALibraryWithALoaderOfItsOwnUsesTheSystems) {
  const std::string program = "-- " PEAKMARK_OWN_LOADER_PROGRAM " " PEAKMARK_OWN_LOADER;
  Result result = record(program, only(PEAKMARK_SMALL_DRIVER));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(recorded(profile()).peak_bytes, 500);
  EXPECT_EQ(recorded(profile()).live_at_end_bytes, 0);
  result = record(program + " with", only(PEAKMARK_SMALL_DRIVER));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(recorded(profile()).peak_bytes, 1500);
  EXPECT_EQ(recorded(profile()).live_at_end_bytes, 1000);
}

TEST_F(RecordDrivers, ALoaderThatIsCalledPastTheDynamicLinkerIsReported) {
  const std::string program = "-- " PEAKMARK_OWN_LOADER_PROGRAM " " PEAKMARK_OWN_LOADER_HIDDEN;
  for (const std::string& line : {program, program + " with"}) {
    const Result result = record(line, only(PEAKMARK_SMALL_DRIVER));
    EXPECT_EQ(result.code, 5);
    EXPECT_THAT(result.err, HasSubstr("the OpenCL loader that is linked into " PEAKMARK_OWN_LOADER_HIDDEN
                                      "; link it to libOpenCL.so.1 instead"));
  }
}

}  // namespace
}  // namespace peakmark
