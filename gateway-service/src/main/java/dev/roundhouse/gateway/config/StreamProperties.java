package dev.roundhouse.gateway.config;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import java.net.InetAddress;
import java.nio.file.Path;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMin;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * How tensor streams are taken for workers ([tstream.md](tstream.md#through-a-gateway)). Without a
 * port and a socket they are not.
 *
 * @param port TCP port; 0 for any that is free, -1 for none.
 * @param address Address of that port; empty for every address of the machine.
 * @param socket Path of a socket in the file system, for clients on the same machine. Who may write
 *     to it may connect.
 * @param maxConnections Connections; clients of further ones are told to come again.
 * @param handshakeTimeout For a client to say which model it wants. A worker's reply has
 *     `health.timeout`.
 */
public record StreamProperties(
    @Min(-1) @Max(65535) @DefaultValue("-1") int port,
    @Nullable InetAddress address,
    @Nullable Path socket,
    @Min(1) @DefaultValue("10000") int maxConnections,
    @DurationMin(millis = 1) @DefaultValue("5s") Duration handshakeTimeout) {

  /** Whether anything listens. */
  public boolean isOn() {
    return port >= 0 || socket != null;
  }
}
