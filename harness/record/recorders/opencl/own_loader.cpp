// A library may contain an OpenCL loader that supports no layers (LightGBM's wheel). Such a loader still
// loads the recorder as a driver without platforms ($OCL_ICD_FILENAMES). The recorder then makes the library
// use the system's loader: it changes the addresses to which the dynamic linker has bound the library's own
// OpenCL calls, as LD_PRELOAD of that loader would, but only in this library.
#include <CL/cl_ext.h>
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "record/recorders/opencl/layer.hpp"

namespace peakmark::opencl_layer {
namespace {

#if defined(__x86_64__)
constexpr unsigned long kBindings[] = {R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT, R_X86_64_64};
#elif defined(__aarch64__)
constexpr unsigned long kBindings[] = {R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT, R_AARCH64_ABS64};
#else
constexpr unsigned long kBindings[] = {~0UL};  // unknown: the library is reported
#endif

bool is_binding(unsigned long type) {
  for (const unsigned long one : kBindings) {
    if (type == one) return true;
  }
  return false;
}

/// Tables of the dynamic linker for one library.
struct DynamicTables {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  struct Relocations {
    const ElfW(Rela) * first = nullptr;
    std::size_t bytes = 0;
  };
  Relocations plain;
  Relocations calls;

  explicit DynamicTables(const link_map& library) {
    // Most systems store addresses here, some store offsets.
    const auto address = [&](ElfW(Addr) value) {
      return reinterpret_cast<const void*>(value < library.l_addr ? library.l_addr + value : value);
    };
    for (const ElfW(Dyn)* entry = library.l_ld; entry->d_tag != DT_NULL; ++entry) {
      const ElfW(Addr) value = entry->d_un.d_ptr;
      switch (entry->d_tag) {
        case DT_SYMTAB:
          symbols = static_cast<const ElfW(Sym)*>(address(value));
          break;
        case DT_STRTAB:
          names = static_cast<const char*>(address(value));
          break;
        case DT_RELA:
          plain.first = static_cast<const ElfW(Rela)*>(address(value));
          break;
        case DT_RELASZ:
          plain.bytes = value;
          break;
        case DT_JMPREL:
          calls.first = static_cast<const ElfW(Rela)*>(address(value));
          break;
        case DT_PLTRELSZ:
          calls.bytes = value;
          break;
        default:
          break;
      }
    }
  }
};

/// Stores an address in a place that the dynamic linker may have made read-only.
bool store(void** place, void* address, bool is_read_only) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  void* const start = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(place) & ~(page - 1));
  if (is_read_only && mprotect(start, page, PROT_READ | PROT_WRITE) != 0) return false;
  std::atomic_ref(*place).store(address, std::memory_order_release);
  if (is_read_only) mprotect(start, page, PROT_READ);
  return true;
}

struct ReadOnly {
  std::uintptr_t base = 0;
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

/// Finds the part that the dynamic linker makes read-only after it has bound a library (PT_GNU_RELRO).
ReadOnly read_only_part(const link_map& library) {
  ReadOnly found{.base = library.l_addr};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t /*size*/, void* data) {
        auto& part = *static_cast<ReadOnly*>(data);
        if (info->dlpi_addr != part.base) return 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          if (info->dlpi_phdr[i].p_type != PT_GNU_RELRO) continue;
          part.begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
          part.end = part.begin + info->dlpi_phdr[i].p_memsz;
        }
        return 1;
      },
      &found);
  return found;
}

}  // namespace

bool use_other_loader(const void* code, void* loader) {
  Dl_info info{};
  link_map* library = nullptr;
  if (dladdr1(code, &info, reinterpret_cast<void**>(&library), RTLD_DL_LINKMAP) == 0 || library == nullptr)
    return false;
  const DynamicTables tables(*library);
  if (tables.symbols == nullptr || tables.names == nullptr) return false;
  const ReadOnly read_only = read_only_part(*library);
  bool creates_contexts = false;
  for (const auto& [first, bytes] : {tables.plain, tables.calls}) {
    for (std::size_t i = 0; first != nullptr && i < bytes / sizeof(*first); ++i) {
      const char* const name = tables.names + tables.symbols[ELF64_R_SYM(first[i].r_info)].st_name;
      // Names such as clCreateBuffer, but not clock.
      if (std::strncmp(name, "cl", 2) != 0 || name[2] < 'A' || name[2] > 'Z' || first[i].r_addend != 0 ||
          !is_binding(ELF64_R_TYPE(first[i].r_info))) {
        continue;
      }
      void* const function = dlsym(loader, name);
      const std::uintptr_t place = library->l_addr + first[i].r_offset;
      if (function == nullptr || !store(reinterpret_cast<void**>(place), function,
                                        place >= read_only.begin && place < read_only.end)) {
        continue;
      }
      creates_contexts = creates_contexts || std::strncmp(name, "clCreateContext", 15) == 0;
    }
  }
  return creates_contexts;  // otherwise the library calls itself without the dynamic linker
}

namespace {

cl_int CL_API_CALL get_no_platforms(cl_uint /*entries*/, cl_platform_id* /*platforms*/, cl_uint* count) {
  if (count != nullptr) *count = 0;
  meet_loader(__builtin_return_address(0));
  return CL_PLATFORM_NOT_FOUND_KHR;
}

}  // namespace
}  // namespace peakmark::opencl_layer

// A loader calls these functions of a driver.
extern "C" {

PEAKMARK_EXPORT void* CL_API_CALL clGetExtensionFunctionAddress(const char* name) {
  if (std::strcmp(name, "clIcdGetPlatformIDsKHR") != 0) return nullptr;
  return reinterpret_cast<void*>(peakmark::opencl_layer::get_no_platforms);
}
}
