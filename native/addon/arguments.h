// Reads arguments from JavaScript.
// Guarantees: what is not of the kind that the core takes is thrown as INVALID before anything is done; no value falls back
// to another meaning, and no text is cut.
#pragma once
#include <napi.h>

#include <cmath>
#include <string>
#include <vector>

#include "session/channel.h"

namespace trellis {

inline Napi::Error ToJsError(Napi::Env env, const CallError& error) {
  Napi::Error out = Napi::Error::New(env, error.message);
  out.Set("code", error.code);
  out.Set("operation", error.operation);
  out.Set("kernel", error.kernel);
  out.Set("errno", Napi::Number::New(env, error.error));
  if (error.index) out.Set("index", Napi::Number::New(env, static_cast<double>(*error.index)));
  return out;
}

[[noreturn]] inline void Refuse(const Napi::Value& value, const std::string& what) {
  throw ToJsError(value.Env(), {"INVALID", what, "", "", 0, {}});
}

inline std::string ReadText(const Napi::Value& value, const char* what) {
  if (!value.IsString()) Refuse(value, std::string(what) + " must be a string");
  std::string text = value.As<Napi::String>().Utf8Value();
  if (text.find('\0') != std::string::npos) Refuse(value, std::string(what) + " must not hold a NUL character");
  return text;
}

// A path, or the name of something: never empty.
inline std::string ReadName(const Napi::Value& value, const char* what) {
  std::string text = ReadText(value, what);
  if (text.empty()) Refuse(value, std::string(what) + " must not be empty");
  return text;
}

// A whole number from `least` to `most`.
inline int64_t ReadWhole(const Napi::Value& value, const char* what, double least, double most) {
  const double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : std::nan("");
  if (!(number >= least && number <= most) || std::floor(number) != number)
    Refuse(value, std::string(what) + " must be a whole number from " + std::to_string(static_cast<int64_t>(least)) + " to " +
                      std::to_string(static_cast<int64_t>(most)));
  return static_cast<int64_t>(number);
}

inline bool ReadBool(const Napi::Value& value, const char* what) {
  if (!value.IsBoolean()) Refuse(value, std::string(what) + " must be true or false");
  return value.As<Napi::Boolean>().Value();
}

// undefined alone means the namespace we run in.
inline NetNsSpec ReadNetNs(const Napi::Value& value) {
  NetNsSpec spec;
  if (value.IsUndefined()) return spec;
  if (value.IsNumber()) spec.pid = static_cast<int>(ReadWhole(value, "the process of a network namespace", 1, INT32_MAX));
  else spec.path = ReadName(value, "a network namespace");
  return spec;
}

inline std::string ReadBuffer(const Napi::Value& value) {
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_uint8_array)
    Refuse(value, "bytes must come as a Uint8Array");
  const auto bytes = value.As<Napi::Uint8Array>();
  return std::string(reinterpret_cast<const char*>(bytes.Data()), bytes.ByteLength());
}

inline Napi::Array ReadList(const Napi::Value& value, const char* what) {
  if (!value.IsArray()) Refuse(value, std::string(what) + " must be a list");
  return value.As<Napi::Array>();
}

inline Napi::Object ReadObject(const Napi::Value& value, const char* what) {
  if (!value.IsObject()) Refuse(value, std::string(what) + " must be an object");
  return value.As<Napi::Object>();
}

inline std::vector<std::string> ReadTexts(const Napi::Value& value, const char* what) {
  const auto list = ReadList(value, what);
  std::vector<std::string> texts;
  for (uint32_t i = 0; i < list.Length(); ++i) texts.push_back(ReadText(list[i], what));
  return texts;
}

inline std::vector<std::string> ReadBuffers(const Napi::Value& value, const char* what) {
  const auto list = ReadList(value, what);
  std::vector<std::string> buffers;
  for (uint32_t i = 0; i < list.Length(); ++i) buffers.push_back(ReadBuffer(list[i]));
  return buffers;
}

}  // namespace trellis
