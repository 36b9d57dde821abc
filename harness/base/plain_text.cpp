#include "base/plain_text.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace peakmark {
namespace {

struct Character {
  std::size_t bytes = 1;
  bool is_plain = false;
  std::uint32_t code = 0;  ///< of a byte that begins no character: that byte
  bool is_utf8 = false;
};

bool is_plain(std::uint32_t code) {
  if (code < 0x20) return code == '\t' || code == '\n' || code == '\r';
  if (code >= 0x7F && code < 0xA0) return false;
  return (code < 0xD800 || code > 0xDFFF) && code != 0xFFFE && code != 0xFFFF && code <= 0x10FFFF;
}

/// The first one, by RFC 3629; a byte that begins none stands for itself.
Character first_of(std::string_view text) {
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
  constexpr std::array<std::uint32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast.at(bytes)) return byte_alone;  // longer than need be
  return {bytes, is_plain(code), code, true};
}

/// As programmers write it.
std::string escaped(const Character& character) {
  constexpr const char* kDigits = "0123456789abcdef";
  switch (character.code) {
    case '\t':
      return "\\t";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    default:
      break;
  }
  const bool is_byte = !character.is_utf8 || character.code < 0x80;
  std::string text = is_byte ? "\\x" : character.code > 0xFFFF ? "\\U" : "\\u";
  for (int shift = is_byte ? 4 : character.code > 0xFFFF ? 28 : 12; shift >= 0; shift -= 4) {
    text += kDigits[(character.code >> static_cast<unsigned>(shift)) & 0xFU];
  }
  return text;
}

}  // namespace

std::string plain_text(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_of(text);
    plain += character.is_plain ? text.substr(0, character.bytes) : std::string_view("\xEF\xBF\xBD");
    text.remove_prefix(character.bytes);
  }
  return plain;
}

std::string one_line(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_of(text);
    const bool breaks_the_line = character.code == '\t' || character.code == '\n' || character.code == '\r';
    if (character.is_plain && !breaks_the_line) {
      line += text.substr(0, character.bytes);
    } else {
      line += escaped(character);
    }
    text.remove_prefix(character.bytes);
  }
  return line;
}

std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  const auto within = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80; };
  std::size_t begin = most / 2;
  std::size_t end = text.size() - most / 2;
  while (begin > 0 && within(begin)) --begin;
  while (end < text.size() && within(end)) ++end;
  return std::string(text.substr(0, begin)) + " … (" + std::to_string(end - begin) + " bytes left out) … " +
         std::string(text.substr(end));
}

std::string cut_in_middle(std::string_view text, std::size_t max) {
  std::vector<std::size_t> characters;  // where each begins
  for (std::size_t at = 0; at < text.size(); ++at) {
    if ((static_cast<unsigned char>(text[at]) & 0xC0) != 0x80) characters.push_back(at);
  }
  if (characters.size() <= max) return std::string(text);
  const std::size_t before = max / 2;
  const std::size_t after = max - 1 - before;
  return std::string(text.substr(0, characters[before])) + "…" +
         std::string(text.substr(characters[characters.size() - after]));
}

}  // namespace peakmark
