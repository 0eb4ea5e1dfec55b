package dev.roundhouse.worker.wiring;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.pjrt.CacheDirectory;
import dev.roundhouse.worker.config.WorkerProperties;
import dev.roundhouse.worker.lifecycle.EngineLifecycle;
import dev.roundhouse.worker.lifecycle.Readiness;
import dev.roundhouse.worker.transport.ClientText;
import dev.roundhouse.worker.transport.ModelLookup;
import dev.roundhouse.worker.transport.Transport;
import dev.roundhouse.worker.transport.grpc.ConnectionShare;
import dev.roundhouse.worker.transport.grpc.GrpcHealth;
import dev.roundhouse.worker.transport.grpc.GuardedService;
import dev.roundhouse.worker.transport.grpc.InferenceGrpcService;
import dev.roundhouse.worker.transport.grpc.InferenceGrpcService.ServerIdentity;
import dev.roundhouse.worker.transport.grpc.RepositoryCalls;
import dev.roundhouse.worker.transport.rest.HealthController;
import io.grpc.BindableService;
import io.grpc.ServerServiceDefinition;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.services.HealthStatusManager;
import io.grpc.protobuf.services.ProtoReflectionService;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.info.BuildProperties;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.annotation.Order;
import org.springframework.core.env.Environment;
import org.springframework.grpc.server.GrpcServerFactory;
import org.springframework.grpc.server.NettyGrpcServerFactory;
import org.springframework.grpc.server.ServerBuilderCustomizer;
import org.springframework.grpc.server.lifecycle.GrpcServerLifecycle;
import org.springframework.grpc.server.service.DefaultGrpcServiceConfigurer;
import org.springframework.grpc.server.service.GrpcServiceConfigurer;
import org.springframework.grpc.server.service.GrpcServiceSpec;
import org.springframework.util.unit.DataSize;

/** The servers, and which port each has. */
@Configuration(proxyBeanMethods = false)
class TransportConfiguration {

  /** Wide enough that one connection carries large tensors at the link's rate. */
  private static final int FLOW_CONTROL_WINDOW = (int) DataSize.ofMegabytes(8).toBytes();

  private static final Duration LAST_ANSWERS = Duration.ofSeconds(1);

  @Bean
  InferenceGrpcService inferenceGrpcService(
      Engine engine,
      Readiness readiness,
      EngineLifecycle lifecycle,
      Device device,
      WorkerProperties properties,
      ObjectProvider<BuildProperties> build) {
    String version = build.stream().map(BuildProperties::getVersion).findFirst().orElse("unknown");
    return new InferenceGrpcService(
        engine,
        readiness,
        new RepositoryCalls(lifecycle.repository()),
        new ServerIdentity(properties.server().name(), version, device.description().platform()));
  }

  @Bean
  GrpcHealth grpcHealth(HealthStatusManager statuses) {
    return new GrpcHealth(statuses);
  }

  /** Boot registers v1; stock Python tools still ask for v1alpha. */
  @Bean
  @SuppressWarnings("deprecation")
  BindableService reflectionV1Alpha() {
    return ProtoReflectionService.newInstance();
  }

  @Bean
  ClientText clientText(WorkerProperties properties) {
    List<Path> folders = new ArrayList<>(properties.repository().directories());
    folders.add(Path.of(System.getProperty("java.io.tmpdir")));
    folders.add(Path.of(System.getProperty("user.home")));
    CacheDirectory.of(System::getenv).ifPresent(folders::add);
    return new ClientText(folders);
  }

  /** Boot's, with every service's requests held against limits while they are read. */
  @Bean
  GrpcServiceConfigurer grpcServiceConfigurer(ApplicationContext context, ClientText texts) {
    return new DefaultGrpcServiceConfigurer(context) {
      @Override
      public ServerServiceDefinition configure(
          GrpcServiceSpec spec, @Nullable GrpcServerFactory factory) {
        return GuardedService.of(super.configure(spec, factory), texts);
      }
    };
  }

  /** Calls run on the event loops: decoding and admission are short, and a hop costs more. */
  @Bean
  ServerBuilderCustomizer<NettyServerBuilder> grpcServerSettings(WorkerProperties properties) {
    int maxMessageBytes = Math.toIntExact(properties.server().maxMessageSize().toBytes());
    return builder ->
        builder
            .directExecutor()
            .maxInboundMessageSize(maxMessageBytes)
            .flowControlWindow(FLOW_CONTROL_WINDOW)
            .addTransportFilter(
                ConnectionShare.perConnection(properties.server().maxUnread().toBytes()));
  }

  /** Boot's, with our time to drain, and some for telling callers that it is over. */
  @Bean
  GrpcServerLifecycle nettyGrpcServerLifecycle(
      NettyGrpcServerFactory factory,
      WorkerProperties properties,
      ApplicationEventPublisher events) {
    Duration drain = properties.shutdown().drain();
    return new GrpcServerLifecycle(factory, drain.plus(LAST_ANSWERS), events);
  }

  @Bean
  ModelLookup modelLookup(Engine engine) {
    return new ModelLookup(engine);
  }

  @Bean
  HealthController healthController(Readiness readiness, ModelLookup models) {
    return new HealthController(readiness, models);
  }

  @Bean
  @Order(1)
  Transport grpcTransport(GrpcServerLifecycle server) {
    return new BoundPort("grpc", server::getPort);
  }

  @Bean
  @Order(2)
  Transport httpTransport(Environment environment) {
    return new BoundPort("http", () -> port(environment, "local.server.port"));
  }

  @Bean
  @Order(3)
  Transport metricsTransport(Environment environment) {
    return new BoundPort("metrics", () -> port(environment, "local.management.port"));
  }

  private static int port(Environment environment, String property) {
    return environment.getProperty(property, Integer.class, 0);
  }

  private record BoundPort(String name, IntSupplier bound) implements Transport {
    @Override
    public int port() {
      return bound.getAsInt();
    }
  }
}
