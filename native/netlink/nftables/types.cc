#include "netlink/nftables/types.h"

#include <net/if.h>

#include <algorithm>
#include <charconv>

namespace trellis::netlink::nft {

namespace {

constexpr std::string_view kSeparator = " . ";
constexpr uint32_t kTypeBits = 6;
constexpr size_t kMaxFields = 5;

constexpr DataType kTypes[] = {
    {"verdict", 1, 0, false, Form::Verdict},         {"nf_proto", 2, 1, true, Form::Number},
    {"integer", 4, 4, true, Form::Number},           {"ipv4_addr", 7, 4, false, Form::Ipv4},
    {"ipv6_addr", 8, 16, false, Form::Ipv6},         {"ether_addr", 9, 6, false, Form::Ether},
    {"ether_type", 10, 2, false, Form::Hexadecimal}, {"inet_proto", 12, 1, false, Form::Protocol},
    {"inet_service", 13, 2, false, Form::Number},    {"icmp_type", 14, 1, false, Form::Number},
    {"mark", 19, 4, true, Form::Hexadecimal},        {"iface_index", 20, 4, true, Form::Number},
    {"ct_state", 26, 4, true, Form::Hexadecimal},    {"icmpv6_type", 29, 1, false, Form::Number},
    {"fib_addrtype", 38, 4, true, Form::Number},     {"ifname", 41, IFNAMSIZ, true, Form::Text},
};

constexpr Name kProtocols[] = {{"icmp", 1}, {"igmp", 2},    {"tcp", 6},    {"udp", 17},      {"gre", 47}, {"esp", 50},
                               {"ah", 51},  {"icmpv6", 58}, {"sctp", 132}, {"udplite", 136}, {"dccp", 33}};

uint32_t Padded(uint32_t size) { return (size + NFT_REG32_SIZE - 1) / NFT_REG32_SIZE * NFT_REG32_SIZE; }

[[noreturn]] void Refuse(std::string_view field, std::string_view text, const DataType& type) {
  ThrowField(field, "holds '" + std::string(text) + "', which is not of type " + std::string(type.word));
}

void PutNumber(uint8_t* to, uint64_t number, const DataType& type, bool bigEndian) {
  for (size_t i = 0; i < type.size; ++i) {
    const size_t at = bigEndian || !type.hostOrder ? type.size - 1 - i : i;
    to[at] = static_cast<uint8_t>(number >> 8 * i);
  }
}

uint64_t GetNumber(const uint8_t* from, const DataType& type, bool bigEndian) {
  uint64_t number = 0;
  for (size_t i = 0; i < type.size; ++i) {
    const size_t at = bigEndian || !type.hostOrder ? type.size - 1 - i : i;
    number |= static_cast<uint64_t>(from[at]) << 8 * i;
  }
  return number;
}

void ParseNumber(std::string_view text, const DataType& type, bool bigEndian, std::string_view field, uint8_t* to) {
  if (type.form == Form::Protocol)
    if (const auto known = ValueOf(kProtocols, text)) return PutNumber(to, *known, type, bigEndian);
  const bool hexadecimal = text.starts_with("0x");
  const std::string_view digits = hexadecimal ? text.substr(2) : text;
  uint64_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number, hexadecimal ? 16 : 10);
  if (digits.empty() || error != std::errc() || stop != end || number >> 8 * type.size != 0) Refuse(field, text, type);
  PutNumber(to, number, type, bigEndian);
}

void ParseOne(std::string_view text, const DataType& type, bool bigEndian, std::string_view field, uint8_t* to) {
  switch (type.form) {
    case Form::Verdict:
      return ThrowField(field, "cannot be a verdict");
    case Form::Ipv4:
    case Form::Ipv6: {
      const auto address = IpAddress::Parse(text);
      if (!address || address->length != type.size) Refuse(field, text, type);
      return void(std::copy_n(address->octets.begin(), type.size, to));
    }
    case Form::Ether: {
      const auto mac = HardwareAddress::Parse(text);
      if (!mac || mac->length != type.size) Refuse(field, text, type);
      return void(std::copy_n(mac->octets.begin(), type.size, to));
    }
    case Form::Text:
      if (text.empty() || text.size() >= type.size || text.find('\0') != std::string_view::npos) Refuse(field, text, type);
      return void(std::copy(text.begin(), text.end(), to));
    default:
      return ParseNumber(text, type, bigEndian, field, to);
  }
}

// Both ends of one field: "a", "a/length" for addresses, "a-b".
void ParseField(std::string_view text, const DataType& type, bool ranges, std::string_view field, uint8_t* from, uint8_t* to) {
  const bool address = type.form == Form::Ipv4 || type.form == Form::Ipv6;
  const size_t dash = type.form == Form::Text ? std::string_view::npos : text.find('-');
  if (ranges && dash != std::string_view::npos) {
    ParseOne(text.substr(0, dash), type, true, field, from);
    ParseOne(text.substr(dash + 1), type, true, field, to);
    if (memcmp(from, to, type.size) > 0)
      ThrowField(field, "holds '" + std::string(text) + "', a range that ends before it begins");
    return;
  }
  if (ranges && address && text.find('/') != std::string_view::npos) {
    const auto prefix = IpPrefix::Parse(text);
    if (!prefix || prefix->address.length != type.size) Refuse(field, text, type);
    for (size_t i = 0; i < type.size; ++i) {
      const int kept = std::clamp<int>(prefix->length - static_cast<int>(8 * i), 0, 8);
      const auto mask = static_cast<uint8_t>(0xFF00 >> kept);
      from[i] = prefix->address.octets[i] & mask;
      to[i] = from[i] | static_cast<uint8_t>(~mask);
    }
    return;
  }
  ParseOne(text, type, ranges, field, from);
  std::copy_n(from, type.size, to);
}

std::string FormatOne(const uint8_t* from, const DataType& type, bool bigEndian) {
  switch (type.form) {
    case Form::Verdict:
      return {};
    case Form::Ipv4:
    case Form::Ipv6:
      return IpAddress::FromBytes({from, type.size})->ToString();
    case Form::Ether:
      return HardwareAddress::FromBytes({from, type.size})->ToString();
    case Form::Text:
      return std::string(ReadString({from, type.size}));
    default: {
      const uint64_t number = GetNumber(from, type, bigEndian);
      if (type.form == Form::Protocol)
        if (const auto word = WordOf(kProtocols, static_cast<uint32_t>(number))) return std::string(*word);
      if (type.form != Form::Hexadecimal) return std::to_string(number);
      char text[20];
      snprintf(text, sizeof text, "0x%0*llx", 2 * type.size, static_cast<unsigned long long>(number));
      return text;
    }
  }
}

// The length of the prefix that spans from..to exactly, or -1.
int PrefixLength(const uint8_t* from, const uint8_t* to, size_t size) {
  size_t bit = 0;
  auto get = [](const uint8_t* bytes, size_t at) { return bytes[at / 8] >> (7 - at % 8) & 1; };
  while (bit < 8 * size && get(from, bit) == get(to, bit)) ++bit;
  for (size_t rest = bit; rest < 8 * size; ++rest)
    if (get(from, rest) != 0 || get(to, rest) != 1) return -1;
  return static_cast<int>(bit);
}

std::string FormatField(const uint8_t* from, const uint8_t* to, const DataType& type, bool ranges) {
  if (!ranges || memcmp(from, to, type.size) == 0) return FormatOne(from, type, ranges);
  if (type.form == Form::Ipv4 || type.form == Form::Ipv6)
    if (const int length = PrefixLength(from, to, type.size); length >= 0)
      return FormatOne(from, type, true) + "/" + std::to_string(length);
  return FormatOne(from, type, true) + "-" + FormatOne(to, type, true);
}

}  // namespace

const DataType* FindType(std::string_view word) {
  for (const DataType& type : kTypes)
    if (type.word == word) return &type;
  return nullptr;
}

bool KeyBytes::Increment() {
  for (size_t i = size; i-- > 0;)
    if (++data[i] != 0) return true;
  return false;
}

void KeyBytes::Decrement() {
  for (size_t i = size; i-- > 0;)
    if (data[i]-- != 0) return;
}

KeyType KeyType::FromWords(const std::vector<std::string>& words, std::string_view field) {
  KeyType type;
  for (const auto& word : words) {
    const DataType* found = FindType(word);
    if (found == nullptr) {
      std::string known;
      for (const DataType& one : kTypes) known += (known.empty() ? "" : ", ") + std::string(one.word);
      ThrowField(field, "knows no type '" + word + "'; it knows " + known);
    }
    if (found->form == Form::Verdict && words.size() > 1) ThrowField(field, "cannot concatenate a verdict");
    type.fields_.push_back(found);
  }
  if (type.fields_.empty()) ThrowField(field, "must name a type");
  // nft packs the type's numbers into 32 bits, six each.
  if (type.Length() > NFT_DATA_VALUE_MAXLEN || type.fields_.size() > kMaxFields)
    ThrowField(field, "is longer than 64 bytes or 5 fields");
  return type;
}

Opt<KeyType> KeyType::FromNumber(uint32_t number) {
  KeyType type;
  for (; number != 0; number >>= kTypeBits) {
    const auto* found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                     [&](const DataType& one) { return one.number == (number & ((1u << kTypeBits) - 1)); });
    if (found == std::end(kTypes)) return std::nullopt;
    if (found->form == Form::Verdict && (number >> kTypeBits != 0 || !type.fields_.empty())) return std::nullopt;
    type.fields_.insert(type.fields_.begin(), found);
  }
  if (type.fields_.empty() || type.fields_.size() > kMaxFields || type.Length() > NFT_DATA_VALUE_MAXLEN) return std::nullopt;
  return type;
}

std::vector<std::string> KeyType::Words() const {
  std::vector<std::string> words;
  for (const DataType* field : fields_) words.emplace_back(field->word);
  return words;
}

uint32_t KeyType::Number() const {
  uint32_t number = 0;
  for (const DataType* field : fields_) number = number << kTypeBits | field->number;
  return number;
}

uint32_t KeyType::Length() const {
  if (fields_.size() == 1) return fields_[0]->size;
  uint32_t length = 0;
  for (const DataType* field : fields_) length += Padded(field->size);
  return length;
}

uint32_t KeyType::ByteOrder() const {
  if (fields_.size() != 1 || IsVerdict()) return 0;
  return fields_[0]->hostOrder ? 1 : 2;
}

KeyRange KeyType::Parse(std::string_view text, bool ranges, std::string_view field) const {
  KeyRange key;
  key.from.size = key.to.size = static_cast<uint8_t>(Length());
  size_t at = 0;
  std::string_view rest = text;
  for (size_t i = 0; i < fields_.size(); ++i) {
    const bool last = i + 1 == fields_.size();
    const size_t end = last ? std::string_view::npos : rest.find(kSeparator);
    if (!last && end == std::string_view::npos)
      ThrowField(field, "holds '" + std::string(text) + "', but needs " + std::to_string(fields_.size()) +
                            " parts with \" . \" between them");
    ParseField(rest.substr(0, end), *fields_[i], ranges, field, key.from.data.data() + at, key.to.data.data() + at);
    at += Padded(fields_[i]->size);
    if (!last) rest = rest.substr(end + kSeparator.size());
  }
  return key;
}

std::string KeyType::Format(const KeyRange& key, bool ranges) const {
  if (key.from.size != Length() || key.to.size != Length()) {
    std::string text = std::string("0x").append(ToHex(key.from.bytes()));
    return key.from == key.to ? text : text.append("-0x").append(ToHex(key.to.bytes()));
  }
  std::string text;
  size_t at = 0;
  for (const DataType* field : fields_) {
    if (at > 0) text += kSeparator;
    text += FormatField(key.from.data.data() + at, key.to.data.data() + at, *field, ranges);
    at += Padded(field->size);
  }
  return text;
}

}  // namespace trellis::netlink::nft
