package dev.roundhouse.worker.wiring;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.process.DescriptorShare;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.transport.memory.PeerMemory;
import dev.roundhouse.worker.actuator.StreamMeters;
import dev.roundhouse.worker.config.StreamProperties;
import dev.roundhouse.worker.config.WorkerProperties;
import dev.roundhouse.worker.transport.Inference;
import dev.roundhouse.worker.transport.tstream.StreamServer;
import dev.roundhouse.worker.transport.tstream.StreamSettings;
import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;
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
  private static final String SOCKET = WorkerProperties.PREFIX + ".stream.socket";

  /**
   * Connections that gRPC, or streams, may have: where both are served, they halve the file
   * descriptors that are gRPC's alone otherwise.
   */
  static int ofGrpcShare(StreamProperties streams, int configured) {
    return DescriptorShare.ofProcess().connections(configured, streams.isOn() ? 2 : 1);
  }

  @Bean
  StreamServer streamServer(
      WorkerProperties properties,
      Inference inference,
      Access access,
      ClientText texts,
      PeerMemory memory,
      Engine engine) {
    StreamProperties own = properties.stream();
    int connections = ofGrpcShare(own, own.maxConnections());
    StreamSettings settings =
        new StreamSettings(
            address(own),
            own.socket(),
            connections,
            own.handshakeTimeout().toNanos(),
            properties.server().stalledMessageTimeout().toNanos(),
            properties.server().unreadAnswerTimeout().toNanos());
    StreamServer.Limits limits =
        new StreamServer.Limits(own.maxWindow(), own.windowSize().toBytes());
    return new StreamServer(settings, limits, inference, access, texts, memory, engine::fail);
  }

  private static @Nullable InetSocketAddress address(StreamProperties own) {
    if (own.port() < 0) {
      return null;
    }
    return own.address() == null
        ? new InetSocketAddress(own.port())
        : new InetSocketAddress(own.address(), own.port());
  }

  @Bean
  StreamMeters streamMeters(StreamServer server) {
    return new StreamMeters(server.load());
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
