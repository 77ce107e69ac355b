// Reads protobuf's wire format, field by field, without a schema.
// Guarantees: nothing outside the bytes is read; bytes that are no message are a KernelError with EBADMSG.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/ip.h"

namespace trellis::pleg {

struct Field {
  uint32_t number = 0;
  bool delimited = false;  // has `bytes`; otherwise `integer`
  uint64_t integer = 0;
  Bytes bytes;
};

class WireReader {
 public:
  // `operation` is what errors say was being done; it must outlive the reader.
  WireReader(Bytes bytes, const std::string& operation)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()), operation_(operation) {}

  // False at the end. Here in the header since a relist of a full node calls it some hundred thousand times.
  bool Next(Field& field) {
    if (at_ == end_) return false;
    const uint64_t tag = Varint();
    if (tag > UINT32_MAX || tag >> 3 == 0) Refuse("a field has an impossible number");
    field.number = static_cast<uint32_t>(tag >> 3);
    field.delimited = (tag & 7) == kDelimited;
    if (field.delimited) field.bytes = Take(Varint());
    else field.integer = Number(tag & 7);
    return true;
  }

  // The field's value, which must be of that shape.
  Bytes Message(const Field& field) const {
    if (!field.delimited) Refuse("a field that should hold a message or text holds a number");
    return field.bytes;
  }
  std::string_view Text(const Field& field) const {
    const Bytes bytes = Message(field);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  uint64_t Integer(const Field& field) const;

  [[noreturn]] void Refuse(const char* why) const;

 private:
  static constexpr uint64_t kDelimited = 2;

  uint64_t Varint() {
    // Nearly every tag, length and state is one byte.
    if (at_ != end_ && *at_ < 0x80) return *at_++;
    return LongVarint();
  }
  uint64_t LongVarint();
  uint64_t Number(uint64_t wireType);
  Bytes Take(uint64_t size) {
    if (size > static_cast<uint64_t>(end_ - at_)) Refuse("a field is longer than its message");
    const Bytes taken(at_, static_cast<size_t>(size));
    at_ += size;
    return taken;
  }

  const uint8_t* at_;
  const uint8_t* end_;
  const std::string& operation_;
};

}  // namespace trellis::pleg
