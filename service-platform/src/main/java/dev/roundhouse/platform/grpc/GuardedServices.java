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

  /**
   * @param texts what callers are told
   */
  public GuardedServices(ApplicationContext context, ClientText texts) {
    super(context);
    this.texts = texts;
  }

  @Override
  public ServerServiceDefinition configure(
      GrpcServiceSpec spec, @Nullable GrpcServerFactory factory) {
    return GuardedService.of(super.configure(spec, factory), texts);
  }
}
