package dev.roundhouse.platform.grpc;

import dev.roundhouse.platform.text.ClientText;
import io.grpc.ServerServiceDefinition;
import org.jspecify.annotations.Nullable;
import org.springframework.context.ApplicationContext;
import org.springframework.grpc.server.GrpcServerFactory;
import org.springframework.grpc.server.service.DefaultGrpcServiceConfigurer;
import org.springframework.grpc.server.service.GrpcServiceSpec;

/** Boot's, with every service's requests held against limits while they are read. */
public final class GuardedServices extends DefaultGrpcServiceConfigurer {
  private final ClientText texts;
  private final AccessGate gate;

  /**
   * @param texts error texts for callers
   * @param gate checks of who may change what
   */
  public GuardedServices(ApplicationContext context, ClientText texts, AccessGate gate) {
    super(context);
    this.texts = texts;
    this.gate = gate;
  }

  @Override
  public ServerServiceDefinition configure(
      GrpcServiceSpec spec, @Nullable GrpcServerFactory factory) {
    return GuardedService.of(gate.before(super.configure(spec, factory)), texts);
  }
}
