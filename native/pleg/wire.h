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
  WireReader(Bytes bytes, const std::string& operation) : rest_(bytes), operation_(operation) {}

  // False at the end.
  bool Next(Field& field);

  // The field's value, which must be of that shape.
  Bytes Message(const Field& field) const;
  std::string_view Text(const Field& field) const;
  uint64_t Integer(const Field& field) const;

  [[noreturn]] void Refuse(const std::string& why) const;

 private:
  uint64_t Varint();
  Bytes Take(uint64_t size);

  Bytes rest_;
  const std::string& operation_;
};

}  // namespace trellis::pleg
