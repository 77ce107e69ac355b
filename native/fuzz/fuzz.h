// What fuzz targets share. A file native/fuzz/<name>.cc is one target:
//   FUZZ_TARGET { ... reads `input`, a Bytes ... }
// Seeds stand in corpus/<name>/, inputs that once failed in regressions/<name>/. The unit tests replay both.
// Guarantees: bytes may be refused only in the documented ways; any other exception, and output that is not JSON, is a find.
#pragma once
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "netlink/attributes.h"

#ifdef TRELLIS_REPLAY
#include "fuzz/replay.h"
#define FUZZ_TARGET                                                                          \
  static void Fuzz(::trellis::Bytes input);                                                  \
  static const bool known = ::trellis::fuzz::RegisterReplay(__FILE__, TRELLIS_REPLAY, Fuzz); \
  static void Fuzz([[maybe_unused]] ::trellis::Bytes input)
#else
#define FUZZ_TARGET                                                         \
  static void Fuzz(::trellis::Bytes input);                                 \
  extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) { \
    Fuzz({data, size});                                                     \
    return 0;                                                               \
  }                                                                         \
  static void Fuzz([[maybe_unused]] ::trellis::Bytes input)
#endif

// Ends the process when a property does not hold; the fuzzer keeps the input.
#define MUST(...)                                                                     \
  do {                                                                                \
    if (!(__VA_ARGS__)) {                                                             \
      fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #__VA_ARGS__); \
      abort();                                                                        \
    }                                                                                 \
  } while (false)

namespace trellis::fuzz {

inline std::string_view TextOf(Bytes input) { return {reinterpret_cast<const char*>(input.data()), input.size()}; }

// A JSON string of any bytes.
inline std::string Quoted(std::string_view text) {
  json::Writer to;
  to.String(text);
  return to.Take();
}

// Runs a reader of the kernel's bytes, which may refuse them as malformed. False when it did.
template <class Reader>
bool Reads(Reader reader) {
  try {
    reader();
    return true;
  } catch (const KernelError& error) {
    if (error.error() != EBADMSG) throw;
    return false;
  }
}

// Runs a reader of requests, which may refuse them as senseless or as no JSON. False when it did.
template <class Reader>
bool Accepts(Reader reader) {
  try {
    reader();
    return true;
  } catch (const InputError&) {
    return false;
  } catch (const json::ParseError&) {
    return false;
  }
}

// Hands a JSON object to a reader of requests; other input is none.
template <class Reader>
void AcceptsObject(Bytes input, Reader reader) {
  Accepts([&] {
    const json::Document document(TextOf(input));
    if (document.root().IsObject()) reader(document.root());
  });
}

// Hands `input` as the payload of a message of that type to a decoder that writes JSON: void or bool (message, writer).
template <class Decoder>
void DecodePayload(uint16_t type, Bytes input, Decoder decode) {
  nlmsghdr header{};
  header.nlmsg_type = type;
  header.nlmsg_len = static_cast<uint32_t>(sizeof header + input.size());
  json::Writer to;
  if (!Reads([&] { decode(netlink::MessageView{header, input}, to); })) return;
  if (to.size() > 0) json::Document(to.Take());
}

// Hands each message of `input`, a datagram, to such a decoder.
template <class Decoder>
void DecodeDatagram(Bytes input, Decoder decode) {
  Reads([&] {
    netlink::ForEachMessage(input, [&](const netlink::MessageView& message) {
      json::Writer to;
      if (Reads([&] { decode(message, to); }) && to.size() > 0) json::Document(to.Take());
    });
  });
}

}  // namespace trellis::fuzz
