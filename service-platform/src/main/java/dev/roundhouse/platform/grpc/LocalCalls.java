package dev.roundhouse.platform.grpc;

import dev.roundhouse.platform.access.Credentials;
import dev.roundhouse.platform.audit.Caller;
import io.grpc.Attributes;
import io.grpc.MethodDescriptor;
import io.grpc.ServerMethodDefinition;
import io.grpc.ServerServiceDefinition;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;

/**
 * The application's own gRPC services, with all that stands before them on the gRPC port, for calls
 * that come by another way. Thread-safe.
 */
public final class LocalCalls {
  /** On whose behalf a call is made, who is written down already. */
  public static final Attributes.Key<Caller> CALLER = Attributes.Key.create("local-caller");

  /** What that caller shows. */
  public static final Attributes.Key<Credentials> CREDENTIALS =
      Attributes.Key.create("local-credentials");

  private final Map<String, ServerMethodDefinition<?, ?>> methods = new HashMap<>();

  public LocalCalls(Collection<ServerServiceDefinition> services) {
    for (ServerServiceDefinition service : services) {
      for (ServerMethodDefinition<?, ?> method : service.getMethods()) {
        methods.put(method.getMethodDescriptor().getFullMethodName(), method);
      }
    }
  }

  /**
   * Who makes calls from here on.
   *
   * @param attributes as a transport would give them, with {@link #CALLER} and {@link #CREDENTIALS}
   */
  public LocalClient client(Attributes attributes) {
    return new LocalClient(this, attributes);
  }

  /** Whether a service has the method. */
  public boolean have(MethodDescriptor<?, ?> method) {
    return methods.containsKey(method.getFullMethodName());
  }

  ServerMethodDefinition<?, ?> definition(MethodDescriptor<?, ?> method) {
    ServerMethodDefinition<?, ?> known = methods.get(method.getFullMethodName());
    if (known == null) {
      throw new IllegalStateException("no service has " + method.getFullMethodName());
    }
    return known;
  }
}
