package dev.roundhouse.worker.config;

import dev.roundhouse.platform.config.DataSizeRange;
import jakarta.validation.Valid;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import java.net.InetAddress;
import java.nio.file.Path;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMin;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * How tensor streams are served ([tstream.md](tstream.md)). Without a port and a socket they are
 * not.
 *
 * @param port TCP port; 0 for any that is free, -1 for none.
 * @param address Address of that port; empty for every address of the machine.
 * @param socket Path of a socket in the file system, for clients on the same machine. Who may write
 *     to it may connect.
 * @param ssl TLS of that port.
 * @param maxConnections Connections; clients of further ones are told to come again.
 * @param maxWindow Messages of one connection that may be under way; a client that wants more is
 *     granted so many.
 * @param windowSize Bytes of their tensors, or of their results where those are larger; of large
 *     messages fewer are granted, at least one.
 * @param handshakeTimeout For a client to say which model it wants.
 */
public record StreamProperties(
    @Min(-1) @Max(65535) @DefaultValue("-1") int port,
    @Nullable InetAddress address,
    @Nullable Path socket,
    @Valid @DefaultValue StreamSslProperties ssl,
    @Min(1) @DefaultValue("10000") int maxConnections,
    @Min(1) @Max(1 << 20) @DefaultValue("4096") int maxWindow,
    @DataSizeRange(min = "1KB", max = "16GB") @DefaultValue("64MB") DataSize windowSize,
    @DurationMin(millis = 1) @DefaultValue("5s") Duration handshakeTimeout) {

  /** Whether anything listens. */
  public boolean isOn() {
    return port >= 0 || socket != null;
  }
}
