package dev.roundhouse.worker.wiring;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.platform.grpc.ConnectionShare;
import dev.roundhouse.platform.grpc.Http2GrpcServerFactory;
import dev.roundhouse.platform.grpc.PortLoad;
import dev.roundhouse.transport.http2.DeflateCodec;
import dev.roundhouse.transport.http2.Http2ServerBuilder;
import dev.roundhouse.transport.memory.PeerMemory;
import dev.roundhouse.worker.actuator.GrpcMeters;
import dev.roundhouse.worker.config.ServerProperties;
import dev.roundhouse.worker.config.WorkerProperties;
import io.grpc.Codec;
import io.grpc.CompressorRegistry;
import io.grpc.DecompressorRegistry;
import io.grpc.netty.NettyServerBuilder;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.springframework.boot.grpc.server.autoconfigure.GrpcServerProperties;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Condition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.type.AnnotatedTypeMetadata;
import org.springframework.grpc.server.GrpcServerFactory;
import org.springframework.grpc.server.NettyGrpcServerFactory;
import org.springframework.grpc.server.ServerBuilderCustomizer;
import org.springframework.grpc.server.lifecycle.GrpcServerLifecycle;
import org.springframework.grpc.server.service.GrpcServiceConfigurer;
import org.springframework.grpc.server.service.GrpcServiceDiscoverer;
import org.springframework.util.unit.DataSize;

/**
 * The gRPC server. Tests and benchmarks that compare it with grpc-java's transport select that by a
 * JVM property; it is not a setting.
 */
@Configuration(proxyBeanMethods = false)
class GrpcServerConfiguration {
  private static final String FIXTURE = "fixture.grpc-transport";
  private static final String MAX_UNREAD = "roundhouse.worker.server.max-unread";

  /** Wide enough that one call carries large tensors at the link's rate. */
  private static final int STREAM_WINDOW = (int) DataSize.ofMegabytes(8).toBytes();

  /** The library's, and deflate. Answers are sent uncompressed, as by Triton's defaults. */
  @Bean
  CompressorRegistry grpcCompressors() {
    CompressorRegistry registry = CompressorRegistry.newEmptyInstance();
    registry.register(Codec.Identity.NONE);
    registry.register(new Codec.Gzip());
    registry.register(new DeflateCodec());
    return registry;
  }

  /** The library's, and deflate. */
  @Bean
  DecompressorRegistry grpcDecompressors() {
    return DecompressorRegistry.getDefaultInstance().with(new DeflateCodec(), true);
  }

  /** Boot's, with our drain time, and some more for telling callers that it is over. */
  private static GrpcServerLifecycle lifecycle(
      GrpcServerFactory factory, WorkerProperties properties, ApplicationEventPublisher events) {
    Duration drain = properties.shutdown().drain();
    return new GrpcServerLifecycle(
        factory, drain.plus(TransportConfiguration.LAST_ANSWERS), events);
  }

  /** The worker's own transport. */
  @Configuration(proxyBeanMethods = false)
  @Conditional(OnHttp2.class)
  static class Http2 {

    /** Replaces the factory that Boot would make. */
    @Bean
    Http2GrpcServerFactory http2GrpcServerFactory(
        GrpcServerProperties grpc,
        GrpcServiceDiscoverer services,
        GrpcServiceConfigurer configurer,
        SslBundles bundles,
        Consumer<Http2ServerBuilder> grpcSettings) {
      Http2GrpcServerFactory factory = new Http2GrpcServerFactory(grpc, bundles, grpcSettings);
      services.findServices().stream()
          .map(service -> configurer.configure(service, factory))
          .forEach(factory::addService);
      return factory;
    }

    /** Of each port of gRPC. */
    @Bean
    Consumer<Http2ServerBuilder> grpcSettings(
        WorkerProperties properties,
        CompressorRegistry compressors,
        DecompressorRegistry decompressors,
        PeerMemory memory,
        PortLoad grpcLoad,
        Engine engine) {
      return builder -> {
        builder.compressorRegistry(compressors).decompressorRegistry(decompressors);
        configure(builder, properties, memory, grpcLoad, engine::fail);
      };
    }

    private static void configure(
        Http2ServerBuilder builder,
        WorkerProperties properties,
        PeerMemory memory,
        PortLoad load,
        Consumer<Throwable> failed) {
      ServerProperties server = properties.server();
      builder
          .maxInboundMessageSize(Math.toIntExact(server.maxMessageSize().toBytes()))
          .streamWindow(STREAM_WINDOW)
          .maxConcurrentStreams(server.maxConcurrentStreams())
          .maxCalls(server.maxCalls() == 0 ? Integer.MAX_VALUE : server.maxCalls())
          .maxConnections(maxConnections(properties))
          .stalledMessageTimeout(server.stalledMessageTimeout().toNanos(), TimeUnit.NANOSECONDS)
          .unreadAnswerTimeout(server.unreadAnswerTimeout().toNanos(), TimeUnit.NANOSECONDS)
          .peerMemory(memory)
          .loadListener(load)
          .failureListener(failed)
          .addTransportFilter(
              ConnectionShare.perConnection(server.maxUnread().toBytes(), MAX_UNREAD));
    }

    /** As many as there is memory for, with almost no metadata. */
    private static long maxCalls(ServerProperties server, PeerMemory memory) {
      long room = memory.standingLimit() / Http2ServerBuilder.LEAST_CALL_BYTES;
      return server.maxCalls() == 0 ? room : Math.min(room, server.maxCalls());
    }

    /** As many as configured, and as file descriptors allow. */
    private static int maxConnections(WorkerProperties properties) {
      return StreamConfiguration.ofGrpcShare(properties, properties.server().maxConnections());
    }

    @Bean
    PortLoad grpcLoad() {
      return new PortLoad();
    }

    @Bean
    GrpcMeters grpcMeters(PortLoad grpcLoad, PeerMemory memory, WorkerProperties properties) {
      ServerProperties server = properties.server();
      return new GrpcMeters(grpcLoad, memory, maxConnections(properties), maxCalls(server, memory));
    }

    @Bean
    GrpcServerLifecycle http2GrpcServerLifecycle(
        Http2GrpcServerFactory factory,
        WorkerProperties properties,
        ApplicationEventPublisher events) {
      return lifecycle(factory, properties, events);
    }
  }

  /** grpc-java's transport, by Boot's own factory: a fixture. */
  @Configuration(proxyBeanMethods = false)
  @Conditional(OnGrpcJava.class)
  static class GrpcJava {

    /** Calls run on the event loops: decoding and admission are short, and a hop costs more. */
    @Bean
    ServerBuilderCustomizer<NettyServerBuilder> grpcServerSettings(WorkerProperties properties) {
      ServerProperties server = properties.server();
      int maxMessageBytes = Math.toIntExact(server.maxMessageSize().toBytes());
      return builder ->
          builder
              .directExecutor()
              .maxInboundMessageSize(maxMessageBytes)
              .maxConcurrentCallsPerConnection(server.maxConcurrentStreams())
              .flowControlWindow(STREAM_WINDOW)
              .addTransportFilter(
                  ConnectionShare.perConnection(server.maxUnread().toBytes(), MAX_UNREAD));
    }

    @Bean
    GrpcServerLifecycle nettyGrpcServerLifecycle(
        NettyGrpcServerFactory factory,
        WorkerProperties properties,
        ApplicationEventPublisher events) {
      return lifecycle(factory, properties, events);
    }
  }

  private static boolean isGrpcJava() {
    return "grpc-java".equals(System.getProperty(FIXTURE));
  }

  static final class OnHttp2 implements Condition {
    @Override
    public boolean matches(ConditionContext context, AnnotatedTypeMetadata metadata) {
      return !isGrpcJava();
    }
  }

  static final class OnGrpcJava implements Condition {
    @Override
    public boolean matches(ConditionContext context, AnnotatedTypeMetadata metadata) {
      return isGrpcJava();
    }
  }
}
