#include "pjrt_call.h"

#include <climits>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <new>
#include <stdexcept>
#include <string>

namespace roundhouse {
namespace {

jclass out_of_memory_error = nullptr;
jclass status_class = nullptr;
jmethodID status_raise = nullptr;

std::string Text(const PJRT_NamedValue& value) {
  switch (value.type) {
    case PJRT_NamedValue_kString:
      return std::string(value.string_value, value.value_size);
    case PJRT_NamedValue_kInt64:
      return std::to_string(value.int64_value);
    case PJRT_NamedValue_kInt64List: {
      std::string text;
      for (size_t i = 0; i < value.value_size; i++) {
        text += (i == 0 ? "" : ".") + std::to_string(value.int64_array_value[i]);
      }
      return text;
    }
    case PJRT_NamedValue_kFloat:
      return std::to_string(value.float_value);
    case PJRT_NamedValue_kBool:
      return value.bool_value ? "true" : "false";
  }
  return "?";
}

}  // namespace

void Throw(JNIEnv* env, const char* operation, int status_code, const char* message, size_t message_size) {
  jbyteArray text = Bytes(env, message, message_size);
  jstring name = text == nullptr ? nullptr : env->NewStringUTF(operation);
  if (name == nullptr) return;  // an OutOfMemoryError is pending
  env->CallStaticVoidMethod(status_class, status_raise, name, static_cast<jint>(status_code), text);
}

void ThrowCaught(JNIEnv* env) {
  if (env->ExceptionCheck()) return;
  try {
    throw;
  } catch (const std::bad_alloc&) {
    env->ThrowNew(out_of_memory_error, "native memory");
  } catch (const std::length_error&) {
    env->ThrowNew(out_of_memory_error, "native memory: larger than an address space");
  } catch (const std::exception& failure) {
    Throw(env, "native code", PJRT_Error_Code_INTERNAL, failure.what(), std::strlen(failure.what()));
  } catch (...) {
    static const char kUnknown[] = "an exception of no known type";
    Throw(env, "native code", PJRT_Error_Code_INTERNAL, kUnknown, sizeof(kUnknown) - 1);
  }
}

bool Succeeded(JNIEnv* env, const PJRT_Api* api, const char* operation, PJRT_Error* error) {
  if (error == nullptr) return true;
  Args<PJRT_Error_GetCode_Args> code;
  code->error = error;
  PJRT_Error* nested = api->PJRT_Error_GetCode(code.get());
  Args<PJRT_Error_Message_Args> message;
  message->error = error;
  api->PJRT_Error_Message(message.get());
  Throw(env, operation, nested == nullptr ? code->code : PJRT_Error_Code_UNKNOWN, message->message,
        message->message_size);
  for (PJRT_Error* each : {error, nested}) Destroy(api, each);
  return false;
}

bool AwaitAndDestroy(JNIEnv* env, const PJRT_Api* api, PJRT_Event* event) {
  if (event == nullptr) return true;
  Args<PJRT_Event_Await_Args> await;
  await->event = event;
  const bool succeeded = ROUNDHOUSE_CALL(env, api, PJRT_Event_Await, await);
  Destroy(api, event);
  return succeeded;
}

void Destroy(const PJRT_Api* api, PJRT_Event* event) {
  if (event == nullptr) return;
  Args<PJRT_Event_Destroy_Args> destroy;
  destroy->event = event;
  api->PJRT_Event_Destroy(destroy.get());
}

void Destroy(const PJRT_Api* api, PJRT_Error* error) {
  if (error == nullptr) return;
  Args<PJRT_Error_Destroy_Args> destroy;
  destroy->error = error;
  api->PJRT_Error_Destroy(destroy.get());
}

jbyteArray Bytes(JNIEnv* env, const char* data, size_t size) {
  if (size > INT_MAX) {
    Throw(env, "copy to a byte[]", PJRT_Error_Code_OUT_OF_RANGE, "larger than 2 GiB", 17);
    return nullptr;
  }
  jbyteArray array = env->NewByteArray(static_cast<jsize>(size));
  if (array != nullptr && size > 0) {
    env->SetByteArrayRegion(array, 0, static_cast<jsize>(size), reinterpret_cast<const jbyte*>(data));
  }
  return array;
}

jclass Class(JNIEnv* env, const char* name) {
  jclass local = env->FindClass(name);
  return local == nullptr ? nullptr : static_cast<jclass>(env->NewGlobalRef(local));
}

jlongArray Longs(JNIEnv* env, const int64_t* data, size_t size) {
  static_assert(sizeof(jlong) == sizeof(int64_t), "a jlong is an int64");
  jlongArray array = env->NewLongArray(static_cast<jsize>(size));
  if (array != nullptr && size > 0) {
    env->SetLongArrayRegion(array, 0, static_cast<jsize>(size), reinterpret_cast<const jlong*>(data));
  }
  return array;
}

jobjectArray Pairs(JNIEnv* env, const PJRT_NamedValue* values, size_t count) {
  jclass bytes = env->FindClass("[B");
  if (bytes == nullptr) return nullptr;
  jobjectArray result = env->NewObjectArray(static_cast<jsize>(2 * count), bytes, nullptr);
  for (size_t i = 0; result != nullptr && i < count; i++) {
    const std::string text = Text(values[i]);
    jbyteArray name = Bytes(env, values[i].name, values[i].name_size);
    if (name == nullptr) return nullptr;
    env->SetObjectArrayElement(result, static_cast<jsize>(2 * i), name);
    jbyteArray value = Bytes(env, text.data(), text.size());
    if (value == nullptr) return nullptr;
    env->SetObjectArrayElement(result, static_cast<jsize>(2 * i + 1), value);
    env->DeleteLocalRef(name);
    env->DeleteLocalRef(value);
  }
  return result;
}

}  // namespace roundhouse

extern "C" JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* vm, void*) {
  JNIEnv* env = nullptr;
  if (vm->GetEnv(reinterpret_cast<void**>(&env), JNI_VERSION_10) != JNI_OK) return JNI_ERR;
  roundhouse::out_of_memory_error = roundhouse::Class(env, "java/lang/OutOfMemoryError");
  if (roundhouse::out_of_memory_error == nullptr) return JNI_ERR;
  roundhouse::status_class = roundhouse::Class(env, "dev/roundhouse/pjrt/PjrtStatus");
  if (roundhouse::status_class == nullptr) return JNI_ERR;
  roundhouse::status_raise =
      env->GetStaticMethodID(roundhouse::status_class, "raise", "(Ljava/lang/String;I[B)V");
  if (roundhouse::status_raise == nullptr) return JNI_ERR;
  return roundhouse::LoadEvents(vm, env) ? JNI_VERSION_10 : JNI_ERR;
}
