#include "pjrt_call.h"

#include <climits>
#include <initializer_list>

namespace roundhouse {
namespace {

jclass status_class = nullptr;
jmethodID status_raise = nullptr;

}  // namespace

void Throw(JNIEnv* env, const char* operation, int status_code, const char* message, size_t message_size) {
  jbyteArray text = Bytes(env, message, message_size);
  jstring name = text == nullptr ? nullptr : env->NewStringUTF(operation);
  if (name == nullptr) return;  // an OutOfMemoryError is pending
  env->CallStaticVoidMethod(status_class, status_raise, name, static_cast<jint>(status_code), text);
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
  for (PJRT_Error* each : {error, nested}) {
    if (each == nullptr) continue;
    Args<PJRT_Error_Destroy_Args> destroy;
    destroy->error = each;
    api->PJRT_Error_Destroy(destroy.get());
  }
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

jlongArray Longs(JNIEnv* env, const int64_t* data, size_t size) {
  static_assert(sizeof(jlong) == sizeof(int64_t), "a jlong is an int64");
  jlongArray array = env->NewLongArray(static_cast<jsize>(size));
  if (array != nullptr && size > 0) {
    env->SetLongArrayRegion(array, 0, static_cast<jsize>(size), reinterpret_cast<const jlong*>(data));
  }
  return array;
}

}  // namespace roundhouse

extern "C" JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* vm, void*) {
  JNIEnv* env = nullptr;
  if (vm->GetEnv(reinterpret_cast<void**>(&env), JNI_VERSION_10) != JNI_OK) return JNI_ERR;
  jclass local = env->FindClass("dev/roundhouse/pjrt/PjrtStatus");
  if (local == nullptr) return JNI_ERR;
  roundhouse::status_class = static_cast<jclass>(env->NewGlobalRef(local));
  roundhouse::status_raise = env->GetStaticMethodID(local, "raise", "(Ljava/lang/String;I[B)V");
  return roundhouse::status_raise == nullptr ? JNI_ERR : JNI_VERSION_10;
}
