// Images of modules like those of `nvcc -cubin`. For sm_90 it gave .nv.global 4076, .nv.global.init 8 and
// .nv.constant3 40 bytes for float[1000], double[7] and a managed int[5]; an int and the text "%f\n"; a
// __constant__ float[10].
#include "record/recorders/cupti/allocation_size.hpp"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "record/recorders/cupti/tests/fake_cuda_driver.hpp"

namespace peakmark {
namespace {

CUDA_ARRAY3D_DESCRIPTOR descriptor(std::size_t width, std::size_t height, std::size_t depth,
                                   CUarray_format format, unsigned channels, unsigned flags = 0) {
  CUDA_ARRAY3D_DESCRIPTOR result{};
  result.Width = width;
  result.Height = height;
  result.Depth = depth;
  result.Format = format;
  result.NumChannels = channels;
  result.Flags = flags;
  return result;
}

// cuArrayCreate makes a 1D array if the height is 0, and cuArray3DCreate makes a 2D array if the depth is 0.
TEST(ArrayBytes, AnExtentOfZeroIsAMissingDimension) {
  EXPECT_EQ(array_bytes(CUDA_ARRAY_DESCRIPTOR{100, 0, CU_AD_FORMAT_HALF, 4}), 100 * 8);
  EXPECT_EQ(array_bytes(descriptor(100, 20, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1)), 2000);
}

TEST(ArrayBytes, BlocksOf4x4AreRoundedUp) {
  EXPECT_EQ(array_bytes(descriptor(5, 9, 0, CU_AD_FORMAT_BC1_UNORM, 4)), 2 * 3 * 8);
  EXPECT_EQ(array_bytes(descriptor(4, 4, 2, CU_AD_FORMAT_BC7_UNORM, 4)), 2 * 16);
}

TEST(ArrayBytes, PackedPlanesAreUnknown) {
  EXPECT_FALSE(array_bytes(descriptor(64, 64, 0, CU_AD_FORMAT_NV12, 3)));
}

TEST(ArrayBytes, LevelsHalveButLayersStay) {
  EXPECT_EQ(mipmapped_array_bytes(descriptor(5, 3, 2, CU_AD_FORMAT_FLOAT, 1), 3),
            (5 * 3 * 2 + 2 * 1 * 1 + 1) * 4);
  EXPECT_EQ(
      mipmapped_array_bytes(descriptor(4, 4, 6, CU_AD_FORMAT_UNSIGNED_INT8, 1, CUDA_ARRAY3D_LAYERED), 3),
      (16 + 4 + 1) * 6);
}

TEST(ArrayBytes, LevelsAreClampedAsTheDriverDoes) {
  const auto square = descriptor(8, 8, 0, CU_AD_FORMAT_FLOAT, 4);
  EXPECT_EQ(mipmapped_array_bytes(square, 20), 1360);
  EXPECT_EQ(mipmapped_array_bytes(square, 4), 1360);
  EXPECT_EQ(mipmapped_array_bytes(square, 3), 1344);
  EXPECT_EQ(mipmapped_array_bytes(square, 0), 1024);
}

TEST(ArrayBytes, SparseAndDeferredArraysHoldNothing) {
  for (const unsigned flag : {CUDA_ARRAY3D_SPARSE, CUDA_ARRAY3D_DEFERRED_MAPPING}) {
    EXPECT_EQ(array_bytes(descriptor(4096, 4096, 0, CU_AD_FORMAT_FLOAT, 4, flag)), 0);
  }
}

TEST(ArrayBytes, OverflowSaturates) {
  const auto largest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(saturating_multiply(SIZE_MAX, 1), largest);
  EXPECT_EQ(saturating_multiply(3, 7), 21);
  EXPECT_EQ(array_bytes(descriptor(SIZE_MAX, 2, 0, CU_AD_FORMAT_FLOAT, 4)), largest);
}

}  // namespace
namespace {

struct Section {
  std::string name;
  std::uint64_t bytes;
};

/// Sections without contents: only their sizes matter.
std::vector<std::byte> image_of(const std::vector<Section>& sections) {
  std::string names(1, '\0');
  std::vector<Elf64_Shdr> table(1);
  for (const Section& one : sections) {
    Elf64_Shdr section{};
    section.sh_name = static_cast<Elf64_Word>(names.size());
    section.sh_type = SHT_NOBITS;
    section.sh_size = one.bytes;
    table.push_back(section);
    names += one.name + '\0';
  }
  Elf64_Shdr of_names{};
  of_names.sh_type = SHT_STRTAB;
  of_names.sh_offset = sizeof(Elf64_Ehdr) + (table.size() + 1) * sizeof(Elf64_Shdr);
  of_names.sh_size = names.size();
  table.push_back(of_names);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_shoff = sizeof(header);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(table.size());
  header.e_shstrndx = static_cast<Elf64_Half>(table.size() - 1);
  std::vector<std::byte> image(of_names.sh_offset + names.size());
  std::memcpy(image.data(), &header, sizeof(header));
  std::memcpy(image.data() + sizeof(header), table.data(), table.size() * sizeof(Elf64_Shdr));
  std::memcpy(image.data() + of_names.sh_offset, names.data(), names.size());
  return image;
}

const std::vector<Section> kSections{{".nv.constant4", 48},   {".nv.constant3", 40}, {".text.k", 1000},
                                     {".nv.global.init", 8},  {".nv.global", 4076},  {".nv.constant0.k", 536},
                                     {".nv.global.other", 99}};

TEST(ModuleGlobals, AreTheSizesOfTheVariableSections) {
  EXPECT_EQ(module_globals_bytes(image_of(kSections)), 4076 + 8 + 40);
  EXPECT_EQ(module_globals_bytes(image_of({{".text.k", 1000}})), 0);
}

TEST(ModuleGlobals, AnImageCutShortAnywhereIsReadSafely) {
  const std::vector<std::byte> whole = image_of(kSections);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const std::vector<std::byte> part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes));
    EXPECT_LE(module_globals_bytes(part), 4076 + 8 + 40);
  }
  EXPECT_EQ(module_globals_bytes({}), 0);
  EXPECT_EQ(module_globals_bytes(image_of({{".nv.global", UINT64_MAX}})), 0);
}

class ModuleCallsTest : public testing::Test, protected RecordedProgram {
 protected:
  std::vector<std::byte> image_ = image_of(kSections);
};

TEST_F(ModuleCallsTest, LiveBesideThePeakFromLoadToUnload) {
  recorder_.on_module_loaded(7, image_, handle<CUcontext>(1));
  recorder_.on_module_loaded(8, {}, handle<CUcontext>(1));
  ASSERT_EQ(events_.lines.size(), 1U);
  EXPECT_EQ(events_.lines[0].kind, MemoryKind::module_globals);
  EXPECT_EQ(events_.lines[0].bytes, 4124);
  EXPECT_EQ(events_.lines[0].number, 10);
  EXPECT_EQ(events_.sums(), (EventList::Sums{0, 0}));
  recorder_.on_module_unloading(7);
  recorder_.on_module_unloading(8);
  ASSERT_EQ(events_.lines.size(), 2U);
  EXPECT_EQ(events_.lines[1].type, EventType::release);
}

TEST_F(ModuleCallsTest, EndWithTheContext) {
  recorder_.on_module_loaded(7, image_, handle<CUcontext>(1));
  call(recorder_, ID(cuCtxDestroy_v2), cuCtxDestroy_v2_params{handle<CUcontext>(1)});
  recorder_.on_module_unloading(7);
  EXPECT_EQ(events_.lines.size(), 2U);
  EXPECT_THAT(events_.notes, testing::IsEmpty());
}

}  // namespace
}  // namespace peakmark
