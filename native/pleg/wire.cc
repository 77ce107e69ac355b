#include "pleg/wire.h"

#include <cerrno>

#include "base/error.h"

namespace trellis::pleg {

namespace {

// The other wire types; groups (3 and 4) left the language before CRI was written.
enum WireType : uint64_t { kVarint = 0, kFixed64 = 1, kFixed32 = 5 };

}  // namespace

// What is of a fixed size is skipped: no field that is read here is.
uint64_t WireReader::Number(uint64_t wireType) {
  switch (wireType) {
    case kVarint:
      return Varint();
    case kFixed64:
      Take(8);
      return 0;
    case kFixed32:
      Take(4);
      return 0;
    default:
      Refuse("a field has an unknown wire type");
  }
}

uint64_t WireReader::Integer(const Field& field) const {
  if (field.delimited) Refuse("a field that should hold a number holds bytes");
  return field.integer;
}

void WireReader::Refuse(const char* why) const { throw KernelError(EBADMSG, operation_, why); }

uint64_t WireReader::LongVarint() {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (at_ == end_) Refuse("the message ends within a number");
    const uint8_t byte = *at_++;
    if (shift == 63 && byte > 1) break;
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  Refuse("a number has more than 64 bits");
}

}  // namespace trellis::pleg
