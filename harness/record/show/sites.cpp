#include "record/show/sites.hpp"

#include <elf.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <tuple>
#include <vector>

#include "record/profile/call_sites.hpp"

namespace peakmark {
namespace {

constexpr std::uint64_t kMaxBytes =
    std::uint64_t{1} << 30;  // maximum size of a table, because a damaged file may have any number here

/// Reads `count` records at `offset`. Returns null if the file does not have them.
template <typename Record>
std::optional<std::vector<Record>> records(std::ifstream& file, std::uint64_t offset, std::uint64_t count) {
  if (count > kMaxBytes / sizeof(Record)) return std::nullopt;
  std::vector<Record> all(count);
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(all.data()), static_cast<std::streamsize>(count * sizeof(Record)));
  if (!file) return std::nullopt;
  return all;
}

bool is_readable(const Elf64_Ehdr& header) {
  constexpr unsigned char kOrder = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_ident[EI_DATA] == kOrder && header.e_phentsize == sizeof(Elf64_Phdr) &&
         header.e_shentsize == sizeof(Elf64_Shdr);
}

/// Returns the address of the beginning of the file: 0, except for programs that are not
/// position-independent.
std::uint64_t base_of(const std::vector<Elf64_Phdr>& segments) {
  std::uint64_t base = UINT64_MAX;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD) base = std::min<std::uint64_t>(base, segment.p_vaddr - segment.p_offset);
  }
  return base == UINT64_MAX ? 0 : base;
}

}  // namespace

ElfSymbols::Table ElfSymbols::read(const std::string& path) const {
  Table table;
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return table;
  if (std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec > newest_ns_) return table;
  std::ifstream file(path, std::ios::binary);
  const auto headers = records<Elf64_Ehdr>(file, 0, 1);
  if (!headers || !is_readable(headers->front())) return table;
  const Elf64_Ehdr& header = headers->front();
  const auto segments = records<Elf64_Phdr>(file, header.e_phoff, header.e_phnum);
  const auto sections = records<Elf64_Shdr>(file, header.e_shoff, header.e_shnum);
  if (!segments || !sections) return table;
  const auto symtab = std::ranges::find(*sections, Elf64_Word{SHT_SYMTAB}, &Elf64_Shdr::sh_type);
  if (symtab == sections->end() || symtab->sh_link >= sections->size()) return table;
  const Elf64_Shdr& strings = (*sections)[symtab->sh_link];
  const auto symbols = records<Elf64_Sym>(file, symtab->sh_offset, symtab->sh_size / sizeof(Elf64_Sym));
  auto names = records<char>(file, strings.sh_offset, strings.sh_size);
  if (!symbols || !names) return table;
  names->push_back('\0');
  const std::uint64_t base = base_of(*segments);
  for (const Elf64_Sym& symbol : *symbols) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
    if (symbol.st_name >= names->size()) continue;
    table.try_emplace(symbol.st_value - base, Function{symbol.st_size, names->data() + symbol.st_name});
  }
  return table;
}

std::string ElfSymbols::function(const std::string& file, std::uint64_t offset) {
  const auto [found, is_new] = tables_.try_emplace(file);
  if (is_new) found->second = read(file);
  const Table& table = found->second;
  auto above = table.upper_bound(offset);
  if (above == table.begin()) return "";
  const auto& [start, function] = *--above;
  return offset - start < std::max<std::uint64_t>(function.bytes, 1) ? function.name : "";
}

namespace {

/// Returns the bytes that were live at the peak or leaked by their stacks.
std::map<std::uint64_t, double> bytes_by_stack(const LedgerSummary& summary) {
  std::map<std::uint64_t, double> bytes;
  for (const auto* const list : {&summary.at_peak, &summary.leaked}) {
    for (const Allocation& one : *list) bytes[one.stack] += static_cast<double>(one.bytes);
  }
  return bytes;
}

}  // namespace

std::map<std::uint64_t, std::vector<CallFrame>> caller_stacks(const LedgerSummary& summary,
                                                              const Symbols& symbols) {
  std::map<std::uint64_t, std::vector<CallFrame>> stacks;
  // Only stacks that are shown: a long program has many more, and each needs the files of its libraries.
  const auto add = [&](std::uint64_t stack) {
    const auto text = summary.stacks.find(stack);
    if (text == summary.stacks.end()) return;
    const auto [place, is_new] = stacks.try_emplace(stack);
    if (is_new) place->second = caller_frames(parse_stack(text->second, symbols));
  };
  for (const Allocation& one : summary.at_peak) add(one.stack);
  for (const Allocation& one : summary.leaked) add(one.stack);
  for (const RefusedAllocation& one : summary.refused) add(one.stack);
  return stacks;
}

std::map<std::uint64_t, std::vector<CallFrame>> caller_stacks(const RecordedProcess& process,
                                                              const LedgerSummary& summary) {
  ElfSymbols symbols(process.header.start_realtime_ns);
  return caller_stacks(
      summary, [&](const std::string& file, std::uint64_t offset) { return symbols.function(file, offset); });
}

SiteNames name_sites(const std::map<std::uint64_t, std::vector<CallFrame>>& stacks,
                     const std::map<std::uint64_t, double>& bytes, std::size_t frames) {
  std::vector<WeighedChain> chains;
  for (const auto& [id, chain] : stacks) {
    const auto weight = bytes.find(id);
    chains.push_back({site_frames(chain), weight == bytes.end() ? 0 : weight->second});
  }
  std::vector<std::vector<std::size_t>> sites = name_sites(chains, frames);
  SiteNames names;
  std::size_t i = 0;
  for (const auto& [id, chain] : stacks) {
    const std::vector<SiteFrame>& all = chains[i].frames;
    std::vector<std::size_t>& site = sites[i++];
    if (frames == 0) {
      std::ranges::reverse(site);
    } else {
      std::stable_partition(site.begin(), site.end(),
                            [&](std::size_t place) { return all[place].is_python; });
    }
    std::vector<std::string>& texts = names[id];
    for (const std::size_t place : site) texts.push_back(all[place].text);
    for (const CallFrame& frame : chain) {
      if (frame.kind == CallFrame::Kind::remark) texts.push_back(text_of(frame));
    }
  }
  return names;
}

SiteNames name_sites(const RecordedProcess& process, const LedgerSummary& summary, std::size_t frames) {
  if (summary.stacks.empty()) return {};
  return name_sites(caller_stacks(process, summary), bytes_by_stack(summary), frames);
}

std::vector<Site> sites_of(const std::vector<Allocation>& allocations, const SiteNames& names) {
  std::map<std::vector<std::string>, Site> by_key;
  const std::vector<std::string> unknown;
  for (const Allocation& allocation : allocations) {
    const auto name = names.find(allocation.stack);
    Site& site = by_key[name == names.end() ? unknown : name->second];
    site.bytes += allocation.bytes;
    site.largest_bytes = std::max(site.largest_bytes, allocation.bytes);
    ++site.count;
  }
  std::vector<Site> sites;
  for (auto& [key, site] : by_key) {
    site.frames = key;
    sites.push_back(std::move(site));
  }
  std::stable_sort(sites.begin(), sites.end(),
                   [](const Site& a, const Site& b) { return a.bytes > b.bytes; });
  return sites;
}

std::vector<RefusedAllocation> refused_by_site(const std::vector<RefusedAllocation>& refused,
                                               const SiteNames& names) {
  std::vector<RefusedAllocation> by_site;
  std::map<std::tuple<Size, MemoryKind, std::int32_t, std::string, std::uint64_t, std::vector<std::string>,
                      RefusedBy>,
           std::size_t>
      places;
  for (RefusedAllocation one : refused) {
    if (const auto name = names.find(one.stack); name != names.end()) {
      one.frames = name->second;
      one.stack = 0;
    }
    const auto [place, is_new] = places.try_emplace(
        {one.bytes, one.kind, one.error, one.phase, one.stack, one.frames, one.refused_by}, by_site.size());
    if (is_new) {
      by_site.push_back(std::move(one));
    } else {
      by_site[place->second].count += one.count;
    }
  }
  return by_site;
}

std::vector<RefusedAllocation> refused_by_site(const RecordedProcess& process, const LedgerSummary& summary,
                                               std::size_t frames) {
  if (summary.refused.empty()) return {};
  return refused_by_site(summary.refused, name_sites(process, summary, frames));
}

std::vector<RefusedAllocation> refused_by_site(const RecordedTree& tree) {
  std::vector<RefusedAllocation> all;
  for (const RecordedProcess& process : tree.processes) {
    std::ranges::move(refused_by_site(process, summarise(process.events), 0), std::back_inserter(all));
  }
  std::ranges::stable_sort(all, std::ranges::greater(), &RefusedAllocation::bytes);
  return all;
}

}  // namespace peakmark
