#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "dev_roundhouse_pjrt_CompilerMain.h"
#include "dev_roundhouse_pjrt_PjrtPlugin.h"
#include "pjrt_call.h"

namespace {

using roundhouse::Api;
using roundhouse::Args;

void ThrowText(JNIEnv* env, const char* operation, int code, const char* text) {
  roundhouse::Throw(env, operation, code, text, std::strlen(text));
}

}  // namespace

// Never dlclosed: plugins leave threads, thread-locals and static destructors behind.
extern "C" JNIEXPORT jlong JNICALL Java_dev_roundhouse_pjrt_PjrtPlugin_open(JNIEnv* env, jclass, jstring path) try {
  const char* file = env->GetStringUTFChars(path, nullptr);
  if (file == nullptr) return 0;
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  env->ReleaseStringUTFChars(path, file);
  if (library == nullptr) {
    ThrowText(env, "dlopen", PJRT_Error_Code_NOT_FOUND, dlerror());
    return 0;
  }
  auto get_api = reinterpret_cast<const PJRT_Api* (*)()>(dlsym(library, "GetPjrtApi"));
  if (get_api == nullptr) {
    ThrowText(env, "dlsym", PJRT_Error_Code_UNIMPLEMENTED, "no symbol GetPjrtApi: this is no PJRT plugin");
    return 0;
  }
  const PJRT_Api* plugin = get_api();
  if (plugin == nullptr) {
    ThrowText(env, "GetPjrtApi", PJRT_Error_Code_INTERNAL, "returned null: the plugin refuses this process");
  }
  return roundhouse::Handle(plugin);
} ROUNDHOUSE_CATCH(env, 0)

extern "C" JNIEXPORT jboolean JNICALL Java_dev_roundhouse_pjrt_PjrtPlugin_canOpen(JNIEnv* env, jclass,
                                                                                 jstring library) try {
  const char* name = env->GetStringUTFChars(library, nullptr);
  if (name == nullptr) return JNI_FALSE;
  const bool found = dlopen(name, RTLD_LAZY | RTLD_LOCAL) != nullptr;
  env->ReleaseStringUTFChars(library, name);
  return found ? JNI_TRUE : JNI_FALSE;
} ROUNDHOUSE_CATCH(env, JNI_FALSE)

extern "C" JNIEXPORT void JNICALL Java_dev_roundhouse_pjrt_PjrtPlugin_setEnvironment(JNIEnv* env, jclass, jstring name,
                                                                                    jstring value) try {
  const char* key = env->GetStringUTFChars(name, nullptr);
  const char* text = key == nullptr ? nullptr : env->GetStringUTFChars(value, nullptr);
  if (text != nullptr) {
    setenv(key, text, 1);
    env->ReleaseStringUTFChars(value, text);
  }
  if (key != nullptr) env->ReleaseStringUTFChars(name, key);
} ROUNDHOUSE_CATCH(env, )

extern "C" JNIEXPORT jlongArray JNICALL Java_dev_roundhouse_pjrt_PjrtPlugin_version(JNIEnv* env, jclass, jlong handle) try {
  const PJRT_Api* api = Api(handle);
  const int64_t values[] = {api->pjrt_api_version.major_version, api->pjrt_api_version.minor_version,
                            static_cast<int64_t>(api->struct_size), static_cast<int64_t>(PJRT_Api_STRUCT_SIZE),
                            PJRT_API_MINOR};
  return roundhouse::Longs(env, values, 5);
} ROUNDHOUSE_CATCH(env, nullptr)

extern "C" JNIEXPORT void JNICALL Java_dev_roundhouse_pjrt_PjrtPlugin_initialize(JNIEnv* env, jclass, jlong handle) try {
  Args<PJRT_Plugin_Initialize_Args> args;
  ROUNDHOUSE_CALL(env, Api(handle), PJRT_Plugin_Initialize, args);
} ROUNDHOUSE_CATCH(env, )

// Names and values in turn.
extern "C" JNIEXPORT jobjectArray JNICALL Java_dev_roundhouse_pjrt_PjrtPlugin_attributes(JNIEnv* env, jclass,
                                                                                        jlong handle) try {
  Args<PJRT_Plugin_Attributes_Args> args;
  if (!ROUNDHOUSE_CALL(env, Api(handle), PJRT_Plugin_Attributes, args)) return nullptr;
  return roundhouse::Pairs(env, args->attributes, args->num_attributes);
} ROUNDHOUSE_CATCH(env, nullptr)

// Whatever the plugin prints goes to standard error from now on; returns where standard output went, or -1.
extern "C" JNIEXPORT jint JNICALL Java_dev_roundhouse_pjrt_CompilerMain_takeStandardOutput(JNIEnv*, jclass) {
  const int output = dup(STDOUT_FILENO);
  return output >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 ? output : -1;
}
