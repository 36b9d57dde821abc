// Variables of modules, by images made here as `nvcc -cubin` makes them: for sm_90 it gave .nv.global 4076,
// .nv.global.init 8 and .nv.constant3 40 bytes for float[1000], double[7] and a managed int[5]; an int and
// the text "%f\n"; a __constant__ float[10].
#include "recorders/cupti/module_globals.hpp"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "recorders/cupti/fake_cuda.hpp"

namespace peakmark {
namespace {

struct Section {
  std::string name;
  std::uint64_t bytes;
};

/// Sections without contents: their sizes are all that matters.
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

TEST(ModuleGlobals, AreTheSectionsOfVariables) {
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
