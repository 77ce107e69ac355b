// The reply parser: messages, acknowledgements, attributes at every depth.
// Property: what it hands out lies inside what it was given, and nothing is handed out twice.
#include "fuzz/fuzz.h"
#include "netlink/socket.h"

namespace trellis::netlink {

namespace {

bool Inside(Bytes inner, Bytes outer) {
  return inner.data() >= outer.data() && inner.data() + inner.size() <= outer.data() + outer.size();
}

void VisitAttributes(Bytes bytes, int depth) {
  const uint8_t* after = bytes.data();
  ForEachAttribute(bytes, [&](const Attribute& attribute) {
    MUST(Inside(attribute.data, bytes) && attribute.data.data() >= after);
    after = attribute.data.data() + attribute.data.size();
    MUST(ReadString(attribute.data).size() <= attribute.data.size());
    if (depth < 8) fuzz::Reads([&] { VisitAttributes(attribute.data, depth + 1); });
  });
  const AttributeTable table(bytes);
  for (uint32_t type = 0; type <= UINT16_MAX; type += 61)
    MUST(!table.Has(static_cast<uint16_t>(type)) || Inside(table.Get(static_cast<uint16_t>(type)), bytes));
}

}  // namespace

}  // namespace trellis::netlink

FUZZ_TARGET {
  using namespace trellis;
  using namespace trellis::netlink;
  fuzz::Reads([&] {
    const uint8_t* after = input.data();
    ForEachMessage(input, [&](const MessageView& message) {
      MUST(Inside(message.payload, input) && message.payload.data() >= after);
      after = message.payload.data() + message.payload.size();
      fuzz::Reads([&] {
        const auto ack = ReadAcknowledgement(message);
        MUST(ack.error >= 0 && ack.text.size() <= message.payload.size());
      });
      fuzz::Reads([&] { VisitAttributes(message.payload, 0); });
    });
  });
}
