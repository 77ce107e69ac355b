// Name tables: the words that stand for numbers in JSON, as iproute2, nft and ipset spell them.
// Guarantees: a number without a word is written and read as the number itself.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace trellis::netlink {

struct Name {
  std::string_view word;
  uint32_t value;
};
using Names = std::span<const Name>;

inline std::optional<uint32_t> ValueOf(Names names, std::string_view word) {
  for (const Name& name : names)
    if (name.word == word) return name.value;
  return std::nullopt;
}

inline std::optional<std::string_view> WordOf(Names names, uint32_t value) {
  for (const Name& name : names)
    if (name.value == value) return name.word;
  return std::nullopt;
}

// "a, b, c": for error messages.
inline std::string ListWords(Names names) {
  std::string list;
  for (const Name& name : names) list += (list.empty() ? "" : ", ") + std::string(name.word);
  return list;
}

}  // namespace trellis::netlink
