package dev.roundhouse.gateway.wiring;

import dev.roundhouse.gateway.config.GatewayProperties;
import dev.roundhouse.gateway.config.ServerProperties;
import dev.roundhouse.gateway.fleet.WorkerTls;
import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.gateway.lifecycle.GatewayFailure;
import dev.roundhouse.gateway.rest.InferRoutes;
import dev.roundhouse.gateway.route.ModelRoutes;
import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.grpc.PortLoad;
import dev.roundhouse.platform.rest.Browsers;
import dev.roundhouse.platform.rest.ControlRoutes;
import dev.roundhouse.platform.rest.HttpFront;
import dev.roundhouse.platform.rest.HttpFrontConfiguration;
import dev.roundhouse.platform.rest.HttpServerSettings;
import dev.roundhouse.transport.forward.ForwardingBudget;
import dev.roundhouse.transport.http1.Http1Settings;
import dev.roundhouse.transport.memory.PeerMemory;
import java.time.Duration;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.boot.web.server.context.WebServerApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.support.DefaultLifecycleProcessor;

/** The HTTP server. */
@Configuration(proxyBeanMethods = false)
@Import(HttpFrontConfiguration.class)
class HttpServerConfiguration {
  private static final String KEYS = GatewayProperties.PREFIX + ".server";

  /** Of a client's connection: its own, and one to a worker. */
  private static final int DESCRIPTORS = 2;

  @Bean
  Browsers browsers(GatewayProperties properties) {
    return new Browsers(properties.server().allowedHosts(), KEYS + ".allowed-hosts");
  }

  @Bean
  HttpServerSettings httpServerSettings(
      GatewayProperties properties, Browsers browsers, Access access) {
    ServerProperties server = properties.server();
    return new HttpServerSettings(
        Math.toIntExact(server.maxMessageSize().toBytes()),
        server.stalledMessageTimeout(),
        browsers,
        access);
  }

  /** Requests over HTTP have the same time to end as those over gRPC, and to be told. */
  @Bean
  SmartInitializingSingleton httpDrain(
      DefaultLifecycleProcessor lifecycle, GatewayProperties properties) {
    Duration drain = properties.shutdown().drain().plus(TransportConfiguration.LAST_ANSWERS);
    return () ->
        lifecycle.setTimeoutForShutdownPhase(
            WebServerApplicationContext.GRACEFUL_SHUTDOWN_PHASE, drain.toMillis());
  }

  @Bean
  HttpFront.Settings httpFrontSettings(
      org.springframework.boot.web.server.autoconfigure.ServerProperties server,
      GatewayProperties properties) {
    ServerProperties own = properties.server();
    return new HttpFront.Settings(
        server,
        own.http(),
        DESCRIPTORS,
        new Http1Settings.BodyLimits(
            Math.toIntExact(own.maxMessageSize().toBytes()), InferRoutes.REMEDY),
        own.stalledMessageTimeout(),
        "raise " + KEYS + ".stalled-message-timeout");
  }

  @Bean
  InferRoutes inferRoutes(
      ModelRoutes routes,
      Workers workers,
      ForwardingBudget memory,
      WorkerTls tls,
      GatewayProperties properties,
      ControlRoutes others) {
    return new InferRoutes(
        routes,
        workers,
        memory,
        tls,
        properties.server().maxMessageSize().toBytes(),
        properties.health().silence(),
        properties.v1().enabled(),
        others);
  }

  @Bean
  HttpFront httpFront(
      HttpFront.Settings settings,
      SslBundles bundles,
      Browsers browsers,
      Access access,
      InferRoutes routes,
      PeerMemory memory,
      GatewayFailure failure) {
    return new HttpFront(
        settings, bundles, browsers, access, routes, new PortLoad(), memory, failure::fail);
  }
}
