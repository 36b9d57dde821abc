#include "base/utf8.hpp"

#include <array>

namespace peakmark {
namespace {

bool is_plain(std::uint32_t code) {
  if (code < 0x20) return code == '\t' || code == '\n' || code == '\r';
  if (code >= 0x7F && code < 0xA0) return false;
  return (code < 0xD800 || code > 0xDFFF) && code != 0xFFFE && code != 0xFFFF && code <= 0x10FFFF;
}

}  // namespace

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<std::uint32_t>(text[at]) & 0xFFU; };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {1, is_plain(first), first, true};
  const Character byte_alone{1, false, first, false};
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC0 || first > 0xF7 || text.size() < bytes) return byte_alone;
  std::uint32_t code = first & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return byte_alone;
    code = code << 6U | (byte(i) & 0x3FU);
  }
  constexpr std::array<std::uint32_t, 5> kMinCodes{0, 0, 0x80, 0x800, 0x10000};
  if (code < kMinCodes.at(bytes)) return byte_alone;  // overlong encoding
  return {bytes, is_plain(code), code, true};
}

std::string valid_text(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_character(text);
    plain += character.is_plain ? text.substr(0, character.bytes) : std::string_view("\xEF\xBF\xBD");
    text.remove_prefix(character.bytes);
  }
  return plain;
}

}  // namespace peakmark
