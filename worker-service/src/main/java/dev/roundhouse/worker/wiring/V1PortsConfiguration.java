package dev.roundhouse.worker.wiring;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.grpc.Http2GrpcServerFactory;
import dev.roundhouse.platform.grpc.LocalCalls;
import dev.roundhouse.platform.grpc.PortLoad;
import dev.roundhouse.platform.rest.Browsers;
import dev.roundhouse.platform.rest.ControlRoutes;
import dev.roundhouse.platform.rest.HttpFront;
import dev.roundhouse.platform.rest.RequestBodies;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.transport.http2.Http2ServerBuilder;
import dev.roundhouse.transport.io.FairTurns;
import dev.roundhouse.transport.memory.PeerMemory;
import dev.roundhouse.worker.actuator.V1PortMeters;
import dev.roundhouse.worker.config.WorkerProperties;
import dev.roundhouse.worker.lifecycle.Readiness;
import dev.roundhouse.worker.transport.ModelConfigs;
import dev.roundhouse.worker.transport.ModelControl;
import dev.roundhouse.worker.transport.ServerIdentity;
import dev.roundhouse.worker.transport.rest.InferRoutes;
import dev.roundhouse.worker.transport.shm.ClientRegions;
import dev.roundhouse.worker.transport.v1.GrpcCalls;
import dev.roundhouse.worker.transport.v1.V1GrpcService;
import dev.roundhouse.worker.transport.v1.V1Protocol;
import dev.roundhouse.worker.transport.v1.V1Routes;
import io.micrometer.observation.ObservationRegistry;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.grpc.server.autoconfigure.GrpcServerProperties;
import org.springframework.boot.micrometer.observation.autoconfigure.ObservationProperties;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Condition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.type.AnnotatedTypeMetadata;
import org.springframework.grpc.server.service.GrpcServiceConfigurer;
import org.springframework.grpc.server.service.GrpcServiceSpec;

/**
 * v1 at ports of its own, with the addresses, TLS, limits and rules of the other ports of gRPC and
 * HTTP. Its service is no bean, so that those do not find it.
 */
@Configuration(proxyBeanMethods = false)
@ConditionalOnBooleanProperty(WorkerProperties.PREFIX + ".v1.enabled")
@Conditional(V1PortsConfiguration.HasAny.class)
class V1PortsConfiguration {
  private static final String GRPC = WorkerProperties.PREFIX + ".v1.grpc-port";
  private static final String HTTP = WorkerProperties.PREFIX + ".v1.http-port";
  private static final String GRPC_NAME = "v1-grpc";
  private static final String HTTP_NAME = "v1-http";

  /** What answers, once. */
  record Answering(V1GrpcService service) {}

  @Bean
  Answering v1Answering(
      V1Protocol protocol,
      GrpcCalls calls,
      Readiness readiness,
      ServerIdentity server,
      ModelControl control,
      ModelConfigs configs,
      ClientRegions regions) {
    return new Answering(protocol.service(calls, readiness, server, control, configs, regions));
  }

  @Bean(defaultCandidate = false)
  PortLoad v1GrpcLoad() {
    return new PortLoad();
  }

  @Bean(defaultCandidate = false)
  PortLoad v1HttpLoad() {
    return new PortLoad();
  }

  @Bean
  @Conditional(HasGrpc.class)
  V1PortMeters v1GrpcMeters(@Qualifier("v1GrpcLoad") PortLoad load, WorkerProperties properties) {
    return new V1PortMeters(
        GRPC_NAME,
        load,
        StreamConfiguration.ofGrpcShare(properties, properties.server().maxConnections()));
  }

  @Bean
  @Conditional(HasHttp.class)
  V1PortMeters v1HttpMeters(@Qualifier("v1HttpLoad") PortLoad load, HttpFront.Settings http) {
    return new V1PortMeters(HTTP_NAME, load, http.maxConnections());
  }

  @Bean
  @Conditional(HasGrpc.class)
  ServerTransport v1GrpcTransport(
      WorkerProperties properties,
      Answering v1,
      GrpcServiceConfigurer configurer,
      GrpcServerProperties grpc,
      SslBundles bundles,
      Consumer<Http2ServerBuilder> grpcSettings,
      @Qualifier("v1GrpcLoad") PortLoad load) {
    int port = properties.v1().grpcPort();
    Http2GrpcServerFactory factory =
        new Http2GrpcServerFactory(
            grpc, port, bundles, grpcSettings.andThen(builder -> builder.loadListener(load)));
    factory.addService(configurer.configure(new GrpcServiceSpec(v1.service(), null), factory));
    return new ServerTransport(GRPC_NAME, GRPC + "=" + port, factory.createServer());
  }

  @Bean
  @Conditional(HasHttp.class)
  HttpTransport v1HttpTransport(
      WorkerProperties properties,
      Answering v1,
      V1Protocol protocol,
      GrpcServiceConfigurer configurer,
      HttpFront.Settings http,
      SslBundles bundles,
      Browsers browsers,
      Access access,
      ClientText texts,
      FairTurns inflating,
      @Qualifier("v1HttpLoad") PortLoad load,
      PeerMemory memory,
      ObservationRegistry observations,
      ObservationProperties observed,
      Engine engine) {
    ControlRoutes others =
        new ControlRoutes(
            new LocalCalls(
                List.of(configurer.configure(new GrpcServiceSpec(v1.service(), null), null))),
            texts,
            observations,
            observed.getHttp().getServer().getRequests().getName());
    RequestBodies bodies =
        new RequestBodies(
            Math.toIntExact(properties.server().maxMessageSize().toBytes()),
            InferRoutes.REMEDY,
            inflating);
    HttpFront front =
        new HttpFront(
            http.at(properties.v1().httpPort()),
            bundles,
            browsers,
            access,
            new V1Routes(protocol, texts, bodies, others),
            load,
            memory,
            engine::fail);
    return new HttpTransport(HTTP_NAME, front, false);
  }

  private static boolean isSet(ConditionContext context, String key) {
    @Nullable String port = context.getEnvironment().getProperty(key); // bound later
    return port != null && !port.equals("-1");
  }

  static final class HasGrpc implements Condition {
    @Override
    public boolean matches(ConditionContext context, AnnotatedTypeMetadata metadata) {
      return isSet(context, GRPC);
    }
  }

  static final class HasHttp implements Condition {
    @Override
    public boolean matches(ConditionContext context, AnnotatedTypeMetadata metadata) {
      return isSet(context, HTTP);
    }
  }

  static final class HasAny implements Condition {
    @Override
    public boolean matches(ConditionContext context, AnnotatedTypeMetadata metadata) {
      return isSet(context, GRPC) || isSet(context, HTTP);
    }
  }

  static final class HasNone implements Condition {
    @Override
    public boolean matches(ConditionContext context, AnnotatedTypeMetadata metadata) {
      return !isSet(context, GRPC) && !isSet(context, HTTP);
    }
  }
}
