// Data types of sets and maps, with nft's names and numbers, and the text form of keys: "10.96.0.1 . tcp . 80".
// Guarantees: what Parse reads Format writes; bytes that do not fit their type are told as "0x..." and never overrun.
#pragma once
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "netlink/nftables/values.h"

namespace trellis::netlink::nft {

enum class Form : uint8_t { Verdict, Ipv4, Ipv6, Ether, Number, Hexadecimal, Protocol, Text };

struct DataType {
  std::string_view word;
  uint32_t number;  // nft's own, told to the kernel for nft's sake
  uint8_t size;
  bool hostOrder;
  Form form;
};

// The type of that name, or null.
const DataType* FindType(std::string_view word);

// Up to 64 bytes, the most a key can hold.
struct KeyBytes {
  std::array<uint8_t, NFT_DATA_VALUE_MAXLEN> data{};
  uint8_t size = 0;

  Bytes bytes() const { return {data.data(), size}; }
  bool operator==(const KeyBytes& other) const { return size == other.size && data == other.data; }
  // Adds one to the bytes as one big-endian number; false when that overflows.
  bool Increment();
  void Decrement();
};

struct KeyRange {
  KeyBytes from;
  KeyBytes to;  // inclusive
};

// A key's or datum's type: one data type, or several concatenated.
class KeyType {
 public:
  KeyType() = default;
  // InputError naming `field` when a word is unknown or the whole is longer than 64 bytes.
  static KeyType FromWords(const std::vector<std::string>& words, std::string_view field);
  // From nft's number, six bits a field; nothing when one is unknown here or FromWords would refuse it.
  static Opt<KeyType> FromNumber(uint32_t number);

  bool empty() const { return fields_.empty(); }
  bool IsVerdict() const { return fields_.size() == 1 && fields_[0]->form == Form::Verdict; }
  bool IsConcatenation() const { return fields_.size() > 1; }
  const std::vector<const DataType*>& fields() const { return fields_; }
  std::vector<std::string> Words() const;
  uint32_t Number() const;
  // Bytes; a field of a concatenation fills whole registers of four.
  uint32_t Length() const;
  // What nft notes in its user data: 0 for concatenations, 1 the host's, 2 big-endian.
  uint32_t ByteOrder() const;

  // `ranges` allows "10.0.0.0/8" and "1-5", and stores every number big-endian, as interval sets need.
  KeyRange Parse(std::string_view text, bool ranges, std::string_view field) const;
  std::string Format(const KeyRange& key, bool ranges) const;

 private:
  std::vector<const DataType*> fields_;
};

}  // namespace trellis::netlink::nft
