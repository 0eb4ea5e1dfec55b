package dev.roundhouse.worker.wiring;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.grpc.PortLoad;
import dev.roundhouse.platform.rest.Browsers;
import dev.roundhouse.platform.rest.ControlRoutes;
import dev.roundhouse.platform.rest.HttpFront;
import dev.roundhouse.platform.rest.HttpFrontConfiguration;
import dev.roundhouse.platform.rest.HttpServerSettings;
import dev.roundhouse.platform.rest.RequestBodies;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.transport.http1.Http1Settings;
import dev.roundhouse.transport.http1.RequestRoutes;
import dev.roundhouse.transport.io.FairTurns;
import dev.roundhouse.transport.memory.PeerMemory;
import dev.roundhouse.worker.actuator.HttpMeters;
import dev.roundhouse.worker.config.ServerProperties;
import dev.roundhouse.worker.config.WorkerProperties;
import dev.roundhouse.worker.transport.Inference;
import dev.roundhouse.worker.transport.ModelLookup;
import dev.roundhouse.worker.transport.rest.InferRoutes;
import dev.roundhouse.worker.transport.text.TextRoutes;
import dev.roundhouse.worker.transport.v1.V1Protocol;
import dev.roundhouse.worker.transport.v1.V1Routes;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

/** The HTTP server. */
@Configuration(proxyBeanMethods = false)
@Import(HttpFrontConfiguration.class)
class HttpServerConfiguration {

  @Bean
  Browsers browsers(WorkerProperties properties) {
    return new Browsers(
        properties.server().allowedHosts(), WorkerProperties.PREFIX + ".server.allowed-hosts");
  }

  @Bean
  HttpServerSettings httpServerSettings(
      WorkerProperties properties, Browsers browsers, Access access) {
    ServerProperties server = properties.server();
    return new HttpServerSettings(
        Math.toIntExact(server.maxMessageSize().toBytes()),
        server.stalledMessageTimeout(),
        browsers,
        access);
  }

  /** Decompresses bodies, with half of the processors. */
  @Bean(destroyMethod = "close")
  FairTurns httpInflating() {
    return new FairTurns(
        "http-inflate", Math.max(1, Runtime.getRuntime().availableProcessors() / 2));
  }

  @Bean(defaultCandidate = false)
  PortLoad httpLoad() {
    return new PortLoad();
  }

  @Bean
  HttpMeters httpMeters(
      @Qualifier("httpLoad") PortLoad load, PeerMemory memory, HttpFront.Settings settings) {
    return new HttpMeters(load, memory, settings.maxConnections());
  }

  @Bean
  HttpFront.Settings httpFrontSettings(
      org.springframework.boot.web.server.autoconfigure.ServerProperties server,
      WorkerProperties properties) {
    ServerProperties own = properties.server();
    return new HttpFront.Settings(
        server,
        own.http(),
        properties.v1().httpPort() >= 0 ? 2 : 1,
        new Http1Settings.BodyLimits(
            Math.toIntExact(own.maxMessageSize().toBytes()), InferRoutes.REMEDY),
        own.stalledMessageTimeout(),
        "raise roundhouse.worker.server.stalled-message-timeout");
  }

  @Bean
  InferRoutes inferRoutes(
      Inference inference,
      ModelLookup models,
      ClientText texts,
      WorkerProperties properties,
      FairTurns inflating,
      ObjectProvider<V1Protocol> v1,
      ControlRoutes others) {
    RequestBodies bodies =
        new RequestBodies(
            Math.toIntExact(properties.server().maxMessageSize().toBytes()),
            InferRoutes.REMEDY,
            inflating);
    TextRoutes ofTexts = new TextRoutes(inference, models, texts, bodies, others);
    V1Protocol protocol = v1.getIfAvailable();
    RequestRoutes rest =
        protocol == null || properties.v1().hasOwnPorts()
            ? ofTexts
            : new V1Routes(protocol, texts, bodies, ofTexts);
    return new InferRoutes(inference, models, texts, bodies, rest);
  }

  @Bean
  HttpFront httpFront(
      HttpFront.Settings settings,
      SslBundles bundles,
      Browsers browsers,
      Access access,
      InferRoutes routes,
      @Qualifier("httpLoad") PortLoad load,
      PeerMemory memory,
      Engine engine) {
    return new HttpFront(settings, bundles, browsers, access, routes, load, memory, engine::fail);
  }
}
