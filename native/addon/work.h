// Promises of work that is done off the JavaScript thread: short work on libuv's threads, long work on a pool of ours.
// Guarantees: no JavaScript is touched by the work; an environment that ends meanwhile (a worker thread) takes no harm.
#pragma once
#include <napi.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "addon/arguments.h"
#include "process/pool.h"

namespace trellis {

inline Napi::Value ToBuffer(Napi::Env env, std::string bytes) {
  auto* owned = new std::string(std::move(bytes));
  return Napi::Buffer<char>::NewOrCopy(env, owned->data(), owned->size(), [owned](Napi::Env, char*) { delete owned; });
}

// Runs `work` on a libuv thread and settles a promise with what `finish` makes of its result.
template <class Result>
class PromiseWork : public Napi::AsyncWorker {
 public:
  using Work = std::function<Result()>;
  using Finish = std::function<Napi::Value(Napi::Env, Result)>;

  static Napi::Value Start(Napi::Env env, Work work, Finish finish) {
    auto* self = new PromiseWork(env, std::move(work), std::move(finish));
    Napi::Value promise = self->deferred_.Promise();
    self->Queue();
    return promise;
  }

 private:
  PromiseWork(Napi::Env env, Work work, Finish finish)
      : AsyncWorker(env), deferred_(env), work_(std::move(work)), finish_(std::move(finish)) {}

  void Execute() override {
    try {
      result_.emplace(work_());
    } catch (...) {
      error_ = CurrentError();
      SetError(error_.message);
    }
    work_ = nullptr;  // what it holds is released off the main thread
  }
  void OnOK() override { deferred_.Resolve(finish_(Env(), std::move(*result_))); }
  void OnError(const Napi::Error&) override { deferred_.Reject(ToJsError(Env(), error_).Value()); }

  Napi::Promise::Deferred deferred_;
  Work work_;
  Finish finish_;
  std::optional<Result> result_;
  CallError error_;
};

// The same on a pool, for work that may take seconds. It should end soon after `stop` is set.
template <class Result>
class PoolWork {
 public:
  using Work = std::function<Result(const Pool::Stop& stop)>;
  using Finish = std::function<Napi::Value(Napi::Env, Result)>;

  static Napi::Value Start(Napi::Env env, Pool& pool, Work work, Finish finish) {
    auto* self = new PoolWork(env, std::move(work), std::move(finish));
    Napi::Value promise = self->deferred_.Promise();
    self->done_ = Done::New(env, "trellis.pool", 0, 1, static_cast<void*>(nullptr));
    try {
      pool.Add([self](const Pool::Stop& stop, bool dropped) { self->Execute(stop, dropped); });
    } catch (...) {  // no thread could be made
      self->error_ = CurrentError();
      self->Tell();
    }
    return promise;
  }

 private:
  static void Settle(Napi::Env env, Napi::Function, void*, PoolWork* given) {
    const std::unique_ptr<PoolWork> self(given);
    if (env == nullptr) return;  // the environment ends; nobody waits any more
    if (self->result_) self->deferred_.Resolve(self->finish_(env, std::move(*self->result_)));
    else self->deferred_.Reject(ToJsError(env, self->error_).Value());
  }
  using Done = Napi::TypedThreadSafeFunction<void, PoolWork, Settle>;

  PoolWork(Napi::Env env, Work work, Finish finish) : deferred_(env), work_(std::move(work)), finish_(std::move(finish)) {}

  void Execute(const Pool::Stop& stop, bool dropped) {
    try {
      if (!dropped) result_.emplace(work_(stop));
    } catch (...) {
      error_ = CurrentError();
    }
    Tell();
  }

  void Tell() {
    work_ = nullptr;
    Done done = done_;
    if (done.NonBlockingCall(this) != napi_ok) delete this;
    done.Release();
  }

  Napi::Promise::Deferred deferred_;
  Work work_;
  Finish finish_;
  Done done_;
  std::optional<Result> result_;
  CallError error_;
};

}  // namespace trellis
