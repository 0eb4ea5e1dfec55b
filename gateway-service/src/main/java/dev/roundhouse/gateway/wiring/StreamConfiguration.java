package dev.roundhouse.gateway.wiring;

import dev.roundhouse.gateway.config.GatewayProperties;
import dev.roundhouse.gateway.config.StreamProperties;
import dev.roundhouse.gateway.lifecycle.GatewayFailure;
import dev.roundhouse.gateway.lifecycle.StreamMeters;
import dev.roundhouse.gateway.route.ModelRoutes;
import dev.roundhouse.gateway.stream.StreamGate;
import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.access.Doors;
import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.platform.process.DescriptorShare;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.platform.tstream.StreamPortSettings;
import dev.roundhouse.transport.forward.SpliceSockets;
import dev.roundhouse.transport.memory.PeerMemory;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Condition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotatedTypeMetadata;

/** Tensor streams, where they are taken. */
@Configuration(proxyBeanMethods = false)
@Conditional(StreamConfiguration.IsOn.class)
class StreamConfiguration {
  private static final String KEYS = GatewayProperties.PREFIX + ".stream";

  /** Of a client's connection: its own, and one to a worker. */
  private static final int DESCRIPTORS = 2;

  /**
   * Connections that gRPC, or streams, may have: where both are served, they halve the file
   * descriptors that are gRPC's alone otherwise.
   */
  static int ofGrpcShare(StreamProperties streams, int configured, int descriptors) {
    return DescriptorShare.ofProcess()
        .connections(configured, descriptors * (streams.isOn() ? 2 : 1));
  }

  /** With the port of streams, if there is one. */
  static Doors doors(StreamProperties streams, Doors others) {
    return streams.port() < 0
        ? others
        : others.and(new Doors.Door(KEYS + ".address", streams.address(), false, false));
  }

  @Bean
  StreamGate streamGate(
      GatewayProperties properties,
      ModelRoutes routes,
      Access access,
      ClientText texts,
      PeerMemory memory,
      GatewayFailure failure) {
    StreamProperties own = properties.stream();
    if (!properties.tls().bundle().isEmpty()) {
      throw new StartRefusedException(
          "roundhouse.gateway.stream is on and roundhouse.gateway.tls.bundle is '%s', and tensor streams to workers are plain text."
              .formatted(properties.tls().bundle()),
          "Remove roundhouse.gateway.stream.port and .socket; or, on a network that you trust, tls.bundle.");
    }
    StreamPortSettings settings =
        new StreamPortSettings(
            KEYS,
            StreamPortSettings.address(own.port(), own.address()),
            false,
            own.socket(),
            ofGrpcShare(own, own.maxConnections(), DESCRIPTORS),
            StreamGate.CONNECTION_BYTES);
    StreamGate.Times times =
        new StreamGate.Times(
            own.handshakeTimeout(),
            properties.health().timeout(),
            properties.server().unreadAnswerTimeout());
    SpliceSockets sockets = new SpliceSockets(properties.health().silence());
    return new StreamGate(settings, times, sockets, routes, access, texts, memory, failure::fail);
  }

  @Bean
  StreamLifecycle streamLifecycle(StreamGate gate, GatewayProperties properties) {
    return new StreamLifecycle(gate, properties);
  }

  @Bean
  StreamMeters streamMeters(StreamGate gate) {
    return new StreamMeters(gate.counts());
  }

  static final class IsOn implements Condition {
    @Override
    public boolean matches(ConditionContext context, AnnotatedTypeMetadata metadata) {
      Environment settings = context.getEnvironment(); // not bound yet: what is wrong is said later
      return !settings.getProperty(KEYS + ".port", "-1").equals("-1")
          || !settings.getProperty(KEYS + ".socket", "").isEmpty();
    }
  }
}
