package dev.roundhouse.worker.wiring;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.platform.grpc.PortLoad;
import dev.roundhouse.platform.rest.Browsers;
import dev.roundhouse.platform.rest.HttpServerSettings;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.transport.io.FairTurns;
import dev.roundhouse.transport.memory.PeerMemory;
import dev.roundhouse.worker.actuator.HttpMeters;
import dev.roundhouse.worker.config.HttpTransport;
import dev.roundhouse.worker.config.ServerProperties;
import dev.roundhouse.worker.config.WorkerProperties;
import dev.roundhouse.worker.transport.Inference;
import dev.roundhouse.worker.transport.ModelLookup;
import dev.roundhouse.worker.transport.rest.InferRoutes;
import java.time.Duration;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.boot.context.properties.bind.BindException;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.boot.tomcat.autoconfigure.TomcatServerProperties;
import org.springframework.boot.web.server.context.WebServerApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.support.DefaultLifecycleProcessor;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.type.AnnotatedTypeMetadata;

/** The HTTP server, by the transport that is configured. Routes are the same in both. */
@Configuration(proxyBeanMethods = false)
class HttpServerConfiguration {

  @Bean
  Browsers browsers(WorkerProperties properties) {
    return new Browsers(
        properties.server().allowedHosts(), WorkerProperties.PREFIX + ".server.allowed-hosts");
  }

  @Bean
  HttpServerSettings httpServerSettings(WorkerProperties properties, Browsers browsers) {
    ServerProperties server = properties.server();
    return new HttpServerSettings(
        Math.toIntExact(server.maxMessageSize().toBytes()),
        server.stalledMessageTimeout(),
        browsers);
  }

  /** Uncompresses bodies, with half of the processors. */
  @Bean(destroyMethod = "close")
  FairTurns httpInflating() {
    return new FairTurns(
        "http-inflate", Math.max(1, Runtime.getRuntime().availableProcessors() / 2));
  }

  /** Requests over HTTP have the same time to end as those over gRPC, and to be told. */
  @Bean
  SmartInitializingSingleton httpDrain(
      DefaultLifecycleProcessor lifecycle, WorkerProperties properties) {
    Duration drain = properties.shutdown().drain().plus(TransportConfiguration.LAST_ANSWERS);
    return () ->
        lifecycle.setTimeoutForShutdownPhase(
            WebServerApplicationContext.GRACEFUL_SHUTDOWN_PHASE, drain.toMillis());
  }

  /** The worker's own server, and Tomcat behind it. */
  @Configuration(proxyBeanMethods = false)
  @Conditional(OnEventLoop.class)
  static class EventLoop {

    @Bean
    TomcatBehind tomcatBehind() {
      return new TomcatBehind();
    }

    @Bean(defaultCandidate = false)
    PortLoad httpLoad() {
      return new PortLoad();
    }

    @Bean
    HttpMeters httpMeters(
        @Qualifier("httpLoad") PortLoad load, PeerMemory memory, TomcatServerProperties tomcat) {
      return new HttpMeters(load, memory, HttpFront.maxConnections(tomcat));
    }

    @Bean
    HttpFront httpFront(
        WorkerProperties properties,
        org.springframework.boot.web.server.autoconfigure.ServerProperties server,
        TomcatServerProperties tomcat,
        SslBundles bundles,
        TomcatBehind behind,
        Browsers browsers,
        Inference inference,
        ModelLookup models,
        ClientText texts,
        @Qualifier("httpLoad") PortLoad load,
        PeerMemory memory,
        FairTurns inflating,
        Engine engine,
        ConfigurableEnvironment environment) {
      int maxBodyBytes = Math.toIntExact(properties.server().maxMessageSize().toBytes());
      InferRoutes routes = new InferRoutes(inference, models, texts, maxBodyBytes, inflating);
      return new HttpFront(
          new HttpFront.Settings(server, tomcat, properties.server()),
          bundles,
          behind,
          browsers,
          routes,
          load,
          memory,
          engine::fail,
          environment);
    }
  }

  /** Unless Tomcat is to answer everything. */
  static final class OnEventLoop extends SpringBootCondition {
    @Override
    public ConditionOutcome getMatchOutcome(
        ConditionContext context, AnnotatedTypeMetadata metadata) {
      HttpTransport configured = configured(Binder.get(context.getEnvironment()));
      return new ConditionOutcome(
          configured == HttpTransport.EVENT_LOOP, "HTTP is carried by " + configured);
    }

    private static HttpTransport configured(Binder binder) {
      try {
        return binder
            .bind(WorkerProperties.PREFIX + ".server.http-transport", HttpTransport.class)
            .orElse(HttpTransport.EVENT_LOOP);
      } catch (BindException e) {
        return HttpTransport.EVENT_LOOP; // said better when all settings are read
      }
    }
  }
}
