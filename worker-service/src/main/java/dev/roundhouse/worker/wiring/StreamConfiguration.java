package dev.roundhouse.worker.wiring;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.platform.process.DescriptorShare;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.platform.tls.BundleContext;
import dev.roundhouse.platform.tstream.StreamPortSettings;
import dev.roundhouse.transport.http2.ServerTls;
import dev.roundhouse.transport.memory.PeerMemory;
import dev.roundhouse.worker.actuator.StreamMeters;
import dev.roundhouse.worker.config.StreamProperties;
import dev.roundhouse.worker.config.StreamSslProperties;
import dev.roundhouse.worker.config.TransportProperties;
import dev.roundhouse.worker.config.WorkerProperties;
import dev.roundhouse.worker.transport.Inference;
import dev.roundhouse.worker.transport.tstream.StreamServer;
import dev.roundhouse.worker.transport.tstream.StreamSettings;
import io.netty.handler.ssl.ClientAuth;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Condition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotatedTypeMetadata;

/** The server of tensor streams, where one is configured. */
@Configuration(proxyBeanMethods = false)
@Conditional(StreamConfiguration.IsOn.class)
class StreamConfiguration {
  private static final String PORT = WorkerProperties.PREFIX + ".stream.port";
  private static final String SSL = WorkerProperties.PREFIX + ".stream.ssl";
  private static final String SOCKET = WorkerProperties.PREFIX + ".stream.socket";

  /**
   * Connections that a port of gRPC, streams, or an added transport may have: they share the file
   * descriptors that are gRPC's alone otherwise. Of an added one its connections are counted: what
   * else it opens, nobody knows.
   */
  static int ofGrpcShare(WorkerProperties properties, int configured) {
    int ports =
        1 + (properties.stream().isOn() ? 1 : 0) + (properties.v1().grpcPort() >= 0 ? 1 : 0);
    for (TransportProperties added : properties.transports().values()) {
      ports += added.enabled() ? 1 : 0;
    }
    return DescriptorShare.ofProcess().connections(configured, ports);
  }

  @Bean
  StreamServer streamServer(
      WorkerProperties properties,
      Inference inference,
      Access access,
      ClientText texts,
      PeerMemory memory,
      SslBundles bundles,
      Engine engine) {
    StreamProperties own = properties.stream();
    int connections = ofGrpcShare(properties, own.maxConnections());
    BundleContext tls = tls(own, bundles);
    StreamSettings settings =
        new StreamSettings(
            new StreamPortSettings(
                WorkerProperties.PREFIX + ".stream",
                StreamPortSettings.address(own.port(), own.address()),
                tls != null,
                own.socket(),
                connections,
                StreamServer.CONNECTION_BYTES),
            tls,
            own.handshakeTimeout().toNanos(),
            properties.server().stalledMessageTimeout().toNanos(),
            properties.server().unreadAnswerTimeout().toNanos());
    StreamServer.Limits limits =
        new StreamServer.Limits(own.maxWindow(), own.windowSize().toBytes());
    return new StreamServer(settings, limits, inference, access, texts, memory, engine::fail);
  }

  /** Null for plain text. */
  private static @Nullable BundleContext tls(StreamProperties own, SslBundles bundles) {
    StreamSslProperties ssl = own.ssl();
    String name = ssl.bundle();
    if (name == null || name.isEmpty()) {
      if (ssl.clientAuth() != StreamSslProperties.ClientAuth.NONE) {
        throw new StartRefusedException(
            SSL + ".client-auth is set, and " + SSL + ".bundle is not: plain text has none.",
            "Name a bundle of spring.ssl.bundle, or remove it.");
      }
      return null;
    }
    if (own.port() < 0) {
      throw new StartRefusedException(
          SSL + ".bundle is set, and there is no port: a socket in the file system has no TLS.",
          "Set " + PORT + ", or remove it.");
    }
    ClientAuth clients =
        switch (ssl.clientAuth()) {
          case NONE -> ClientAuth.NONE;
          case OPTIONAL -> ClientAuth.OPTIONAL;
          case REQUIRE -> ClientAuth.REQUIRE;
        };
    return BundleContext.of(
        bundles,
        "the server of tensor streams",
        name,
        bundle ->
            ServerTls.contextOf(
                StreamServer.ALPN,
                bundle.getManagers().getKeyManagerFactory(),
                bundle.getManagers().getTrustManagerFactory(),
                clients));
  }

  @Bean
  StreamMeters streamMeters(StreamServer server) {
    return new StreamMeters(server);
  }

  static final class IsOn implements Condition {
    @Override
    public boolean matches(ConditionContext context, AnnotatedTypeMetadata metadata) {
      Environment settings = context.getEnvironment(); // not bound yet: what is wrong is said later
      return !settings.getProperty(PORT, "-1").equals("-1")
          || !settings.getProperty(SOCKET, "").isEmpty();
    }
  }
}
