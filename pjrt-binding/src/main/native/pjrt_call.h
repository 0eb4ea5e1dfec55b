// What every file here shares: argument structs, the status check, and bytes to and from Java.
// C++ converts and calls; Java decides. No function here validates what Java has promised to check.
#pragma once

#include <jni.h>

#include <cstddef>

#include "pjrt_c_api.h"

namespace roundhouse {

// An argument struct with zeroed slack behind it that counts towards struct_size. A plugin newer than our header
// finds zeros in the fields it added and we do not know; an older one accepts a struct larger than its own.
template <class T>
class Args {
 public:
  Args() { padded_.args.struct_size = sizeof(padded_); }
  T* get() { return &padded_.args; }
  T* operator->() { return &padded_.args; }

 private:
  static constexpr size_t kSlack = 256;
  struct {
    T args;
    char slack[kSlack];
  } padded_ = {};
};

inline const PJRT_Api* Api(jlong handle) { return reinterpret_cast<const PJRT_Api*>(handle); }

template <class T>
T* Handle(jlong handle) {
  return reinterpret_cast<T*>(handle);
}

inline jlong Handle(const void* pointer) { return reinterpret_cast<jlong>(pointer); }

// Throws DeviceException with the code that PjrtStatus gives to an absl status code.
void Throw(JNIEnv* env, const char* operation, int status_code, const char* message, size_t message_size);

// For a catch block: leaves what was caught pending as an OutOfMemoryError or a DeviceException.
void ThrowCaught(JNIEnv* env);

// Ends the function-try-block of every native method: a C++ exception must not unwind through the JVM.
#define ROUNDHOUSE_CATCH(env, result) \
  catch (...) {                       \
    ::roundhouse::ThrowCaught(env);   \
    return result;                    \
  }

// The one status check: true when there is no error; otherwise destroys it and leaves a DeviceException pending.
bool Succeeded(JNIEnv* env, const PJRT_Api* api, const char* operation, PJRT_Error* error);

template <class T>
bool Call(JNIEnv* env, const PJRT_Api* api, const char* operation, PJRT_Error* (*function)(T*), Args<T>& args) {
  if (function == nullptr) {
    Throw(env, operation, PJRT_Error_Code_UNIMPLEMENTED, "not in this plugin", 18);
    return false;
  }
  return Succeeded(env, api, operation, function(args.get()));
}

#define ROUNDHOUSE_CALL(env, api, name, args) ::roundhouse::Call(env, api, #name, (api)->name, args)

// Waits for the event and destroys it; false leaves a DeviceException pending.
bool AwaitAndDestroy(JNIEnv* env, const PJRT_Api* api, PJRT_Event* event);

void Destroy(const PJRT_Api* api, PJRT_Event* event);

void Destroy(const PJRT_Api* api, PJRT_Error* error);

// Looks up what calling back from an event needs; false leaves an exception pending.
bool LoadEvents(JavaVM* vm, JNIEnv* env);

// A class that is kept for as long as this library; null leaves an exception pending.
jclass Class(JNIEnv* env, const char* name);

// A new Java byte[]; null leaves an OutOfMemoryError pending.
jbyteArray Bytes(JNIEnv* env, const char* data, size_t size);

jlongArray Longs(JNIEnv* env, const int64_t* data, size_t size);

// Names and values in turn, as text, in a new byte[][]; null leaves an exception pending.
jobjectArray Pairs(JNIEnv* env, const PJRT_NamedValue* values, size_t count);

// A byte[] of Java's, readable while this lives. data() is null when a pending OutOfMemoryError says so.
class BorrowedBytes {
 public:
  BorrowedBytes(JNIEnv* env, jbyteArray array)
      : env_(env), array_(array), size_(env->GetArrayLength(array)), data_(env->GetByteArrayElements(array, nullptr)) {}
  ~BorrowedBytes() {
    if (data_ != nullptr) env_->ReleaseByteArrayElements(array_, data_, JNI_ABORT);
  }
  BorrowedBytes(const BorrowedBytes&) = delete;
  BorrowedBytes& operator=(const BorrowedBytes&) = delete;

  char* data() const { return reinterpret_cast<char*>(data_); }
  size_t size() const { return size_; }

 private:
  JNIEnv* env_;
  jbyteArray array_;
  size_t size_;
  jbyte* data_;
};

}  // namespace roundhouse
