#include "pleg/wire.h"

#include <cerrno>

#include "base/error.h"

namespace trellis::pleg {

namespace {

// The wire types; groups (3 and 4) left the language before CRI was written.
enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kDelimited = 2, kFixed32 = 5 };

constexpr uint64_t kMaxTag = UINT32_MAX;

}  // namespace

bool WireReader::Next(Field& field) {
  if (rest_.empty()) return false;
  const uint64_t tag = Varint();
  if (tag > kMaxTag || tag >> 3 == 0) Refuse("a field has an impossible number");
  field = {};
  field.number = static_cast<uint32_t>(tag >> 3);
  switch (tag & 7) {
    case kVarint: field.integer = Varint(); break;
    case kFixed64: Take(8); break;  // no field that is read here has a fixed size
    case kFixed32: Take(4); break;
    case kDelimited:
      field.delimited = true;
      field.bytes = Take(Varint());
      break;
    default: Refuse("a field has an unknown wire type");
  }
  return true;
}

Bytes WireReader::Message(const Field& field) const {
  if (!field.delimited) Refuse("a field that should hold a message or text holds a number");
  return field.bytes;
}

std::string_view WireReader::Text(const Field& field) const {
  const Bytes bytes = Message(field);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

uint64_t WireReader::Integer(const Field& field) const {
  if (field.delimited) Refuse("a field that should hold a number holds bytes");
  return field.integer;
}

void WireReader::Refuse(const std::string& why) const { throw KernelError(EBADMSG, operation_, why); }

uint64_t WireReader::Varint() {
  // Nearly every tag, length and state is one byte.
  if (!rest_.empty() && rest_.front() < 0x80) {
    const uint8_t byte = rest_.front();
    rest_ = rest_.subspan(1);
    return byte;
  }
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (rest_.empty()) Refuse("the message ends within a number");
    const uint8_t byte = rest_.front();
    rest_ = rest_.subspan(1);
    if (shift == 63 && byte > 1) break;
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  Refuse("a number has more than 64 bits");
}

Bytes WireReader::Take(uint64_t size) {
  if (size > rest_.size()) Refuse("a field is longer than its message");
  const Bytes taken = rest_.first(static_cast<size_t>(size));
  rest_ = rest_.subspan(static_cast<size_t>(size));
  return taken;
}

}  // namespace trellis::pleg
