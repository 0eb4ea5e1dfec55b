package dev.roundhouse.transport.http2;

import io.grpc.InternalServerInterceptors;
import io.grpc.ServerInterceptor;
import io.grpc.ServerMethodDefinition;
import io.grpc.ServerServiceDefinition;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The methods of a server's services, behind its interceptors. For one thread. */
final class ServiceMethods {
  private final List<ServerServiceDefinition> services = new ArrayList<>();
  private final List<ServerInterceptor> interceptors = new ArrayList<>();

  void add(ServerServiceDefinition service) {
    services.add(service);
  }

  void add(ServerInterceptor interceptor) {
    interceptors.add(interceptor);
  }

  List<ServerServiceDefinition> services() {
    return List.copyOf(services);
  }

  /** All methods by their full names. */
  Map<String, ServerMethodDefinition<?, ?>> all() {
    Map<String, ServerMethodDefinition<?, ?>> methods = new HashMap<>();
    for (ServerServiceDefinition service : services) {
      for (ServerMethodDefinition<?, ?> method : service.getMethods()) {
        methods.put(method.getMethodDescriptor().getFullMethodName(), intercepted(method));
      }
    }
    return Map.copyOf(methods);
  }

  /** The first interceptor added is the last before the service, as in any builder. */
  private <Q, R> ServerMethodDefinition<Q, R> intercepted(ServerMethodDefinition<Q, R> method) {
    ServerMethodDefinition<Q, R> with = method;
    for (ServerInterceptor interceptor : interceptors) {
      with =
          with.withServerCallHandler(
              InternalServerInterceptors.interceptCallHandlerCreate(
                  interceptor, with.getServerCallHandler()));
    }
    return with;
  }
}
