package dev.roundhouse.gateway.wiring;

import dev.roundhouse.gateway.calls.ControlFleet;
import dev.roundhouse.gateway.calls.FleetCalls;
import dev.roundhouse.gateway.calls.SharedRegions;
import dev.roundhouse.gateway.config.GatewayProperties;
import dev.roundhouse.gateway.config.ServerProperties;
import dev.roundhouse.gateway.fleet.WorkerTls;
import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.gateway.grpc.GatewayInferenceService;
import dev.roundhouse.gateway.grpc.SchedulingService;
import dev.roundhouse.gateway.grpc.WorkersControlService;
import dev.roundhouse.gateway.lifecycle.GatewayFailure;
import dev.roundhouse.gateway.lifecycle.GatewayReadiness;
import dev.roundhouse.gateway.lifecycle.GatewayReadyLine;
import dev.roundhouse.gateway.lifecycle.PlacementEndpoint;
import dev.roundhouse.gateway.route.ModelRoutes;
import dev.roundhouse.gateway.schedule.SchedulingControl;
import dev.roundhouse.gateway.stream.StreamGate;
import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.access.AccessFiles;
import dev.roundhouse.platform.access.AccessStart;
import dev.roundhouse.platform.access.Doors;
import dev.roundhouse.platform.actuator.AccessMeters;
import dev.roundhouse.platform.actuator.PeerMemoryMeters;
import dev.roundhouse.platform.audit.AuditFile;
import dev.roundhouse.platform.grpc.AccessGate;
import dev.roundhouse.platform.grpc.ForwardedAccess;
import dev.roundhouse.platform.grpc.GrpcHealth;
import dev.roundhouse.platform.grpc.GuardedServices;
import dev.roundhouse.platform.grpc.Http2GrpcServerFactory;
import dev.roundhouse.platform.grpc.PortLoad;
import dev.roundhouse.platform.logging.Announcer;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.transport.forward.ForwardingBudget;
import dev.roundhouse.transport.forward.GrpcForwarder;
import dev.roundhouse.transport.forward.UpstreamTls;
import dev.roundhouse.transport.http2.DeflateCodec;
import dev.roundhouse.transport.http2.Http2ServerBuilder;
import dev.roundhouse.transport.memory.PeerMemory;
import io.grpc.BindableService;
import io.grpc.DecompressorRegistry;
import io.grpc.protobuf.services.HealthStatusManager;
import io.grpc.protobuf.services.ProtoReflectionService;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.autoconfigure.web.server.ManagementServerProperties;
import org.springframework.boot.grpc.server.autoconfigure.GrpcServerProperties;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import org.springframework.grpc.server.lifecycle.GrpcServerLifecycle;
import org.springframework.grpc.server.service.GrpcServiceConfigurer;
import org.springframework.grpc.server.service.GrpcServiceDiscoverer;
import org.springframework.util.unit.DataSize;

/** The servers, and which port each has. */
@Configuration(proxyBeanMethods = false)
class TransportConfiguration {
  static final Duration LAST_ANSWERS = Duration.ofSeconds(1);

  /** Wide enough that one call carries large tensors at the link's rate. */
  private static final int STREAM_WINDOW = (int) DataSize.ofMegabytes(8).toBytes();

  /** Of a client's connection: its own, and a part of those to workers. */
  private static final int DESCRIPTORS = 2;

  @Bean
  Http2GrpcServerFactory http2GrpcServerFactory(
      GrpcServerProperties grpc,
      GatewayProperties properties,
      GrpcServiceDiscoverer services,
      GrpcServiceConfigurer configurer,
      SslBundles bundles,
      ModelRoutes routes,
      ForwardingBudget memory,
      PeerMemory peers,
      WorkerTls tls,
      PortLoad load,
      GatewayFailure failure,
      Access access) {
    Http2GrpcServerFactory factory =
        new Http2GrpcServerFactory(
            grpc,
            bundles,
            builder ->
                configure(
                    builder, properties, routes, access, memory, peers, tls, load, failure::fail));
    services.findServices().stream()
        .map(service -> configurer.configure(service, factory))
        .forEach(factory::addService);
    return factory;
  }

  private static void configure(
      Http2ServerBuilder builder,
      GatewayProperties properties,
      ModelRoutes routes,
      Access access,
      ForwardingBudget memory,
      PeerMemory peers,
      WorkerTls tls,
      PortLoad load,
      Consumer<Throwable> failed) {
    UpstreamTls secret = tls.grpc() == null ? null : new UpstreamTls(tls.grpc(), tls.serverName());
    ServerProperties server = properties.server();
    builder
        .forward(
            new GrpcForwarder(
                routes, new ForwardedAccess(access), memory, properties.health().silence(), secret))
        .peerMemory(peers)
        .decompressorRegistry(
            DecompressorRegistry.getDefaultInstance().with(new DeflateCodec(), true))
        .maxInboundMessageSize(Math.toIntExact(server.maxMessageSize().toBytes()))
        .streamWindow(STREAM_WINDOW)
        .maxConcurrentStreams(server.maxConcurrentStreams())
        .maxCalls(server.maxCalls() == 0 ? Integer.MAX_VALUE : server.maxCalls())
        .maxConnections(
            StreamConfiguration.ofGrpcShare(
                properties.stream(), server.maxConnections(), DESCRIPTORS))
        .stalledMessageTimeout(server.stalledMessageTimeout().toNanos(), TimeUnit.NANOSECONDS)
        .unreadAnswerTimeout(server.unreadAnswerTimeout().toNanos(), TimeUnit.NANOSECONDS)
        .loadListener(load)
        .failureListener(failed);
  }

  @Bean
  Access access(
      GatewayProperties properties,
      GrpcServerProperties grpc,
      org.springframework.boot.web.server.autoconfigure.ServerProperties http,
      ManagementServerProperties operators) {
    return AccessStart.open(
        properties.access(),
        GatewayProperties.PREFIX + ".access",
        false,
        StreamConfiguration.doors(properties.stream(), Doors.of(grpc, http, operators)));
  }

  @Bean
  AccessMeters accessMeters(Access access) {
    return new AccessMeters(access);
  }

  @Bean
  AuditFile auditFile(GatewayProperties properties) {
    return new AuditFile(properties.audit(), GatewayProperties.PREFIX + ".audit");
  }

  @Bean
  AccessFiles accessFiles(Access access) {
    return new AccessFiles(access);
  }

  @Bean
  PeerMemory peerMemory(ForwardingBudget memory) {
    return new PeerMemory(memory.root());
  }

  @Bean
  PeerMemoryMeters peerMemoryMeters(PeerMemory peers) {
    return new PeerMemoryMeters(peers);
  }

  /** Boot's, with our time to drain, and some for telling callers that it is over. */
  @Bean
  GrpcServerLifecycle http2GrpcServerLifecycle(
      Http2GrpcServerFactory factory,
      GatewayProperties properties,
      ApplicationEventPublisher events) {
    return new GrpcServerLifecycle(
        factory, properties.shutdown().drain().plus(LAST_ANSWERS), events);
  }

  @Bean
  BindableService inferenceService(
      GatewayReadiness readiness, FleetCalls calls, SharedRegions regions) {
    return new GatewayInferenceService(readiness, calls, regions);
  }

  @Bean
  BindableService controlService(ControlFleet control) {
    return new WorkersControlService(control);
  }

  @Bean
  BindableService schedulingService(SchedulingControl control) {
    return new SchedulingService(control);
  }

  @Bean
  ClientText clientText(GatewayProperties properties) {
    List<Path> folders = new ArrayList<>();
    folders.add(Path.of(System.getProperty("java.io.tmpdir")));
    folders.add(Path.of(System.getProperty("user.home")));
    String workers = properties.discovery().file();
    if (!workers.isEmpty()) {
      Stream.ofNullable(Path.of(workers).toAbsolutePath().getParent()).forEach(folders::add);
    }
    return new ClientText(folders);
  }

  @Bean
  GrpcServiceConfigurer grpcServiceConfigurer(
      ApplicationContext context, ClientText texts, Access access) {
    return new GuardedServices(context, texts, new AccessGate(access));
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
  PlacementEndpoint placementEndpoint(SchedulingControl control) {
    return new PlacementEndpoint(control);
  }

  @Bean
  GatewayReadyLine gatewayReadyLine(
      Workers workers,
      GrpcServerLifecycle grpc,
      Environment environment,
      ObjectProvider<StreamGate> streams) {
    return new GatewayReadyLine(
        workers,
        () ->
            "grpc=%d http=%d metrics=%d"
                    .formatted(
                        grpc.getPort(),
                        port(environment, "local.server.port"),
                        port(environment, "local.management.port"))
                + streams.stream()
                    .map(StreamGate::port)
                    .filter(port -> port > 0) // none where there is only a socket
                    .map(port -> " stream=" + port)
                    .findAny()
                    .orElse(""),
        new Announcer(environment, System.out));
  }

  private static int port(Environment environment, String property) {
    return environment.getProperty(property, Integer.class, 0);
  }
}
