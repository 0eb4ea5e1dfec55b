package dev.roundhouse.platform.tstream;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Where clients connect, and how many may.
 *
 * @param keys of the settings, such as {@code roundhouse.worker.stream}
 * @param address over TCP; null for none
 * @param secured whether clients over TCP are to speak TLS
 * @param socket in the file system; null for none
 * @param maxConnections further ones are told that there is no room
 * @param connectionBytes that a connection takes of the memory for peers
 * @param threads that serve the connections
 */
public record StreamPortSettings(
    String keys,
    @Nullable InetSocketAddress address,
    boolean secured,
    @Nullable Path socket,
    int maxConnections,
    long connectionBytes,
    Threads threads) {
  private static final int MOST_THREADS = 8;

  /** How many there are, and the name of each, which its number follows. */
  public record Threads(String name, int count) {
    /** One for each processor, to a limit. */
    public static Threads ofProcessors(String name) {
      return new Threads(
          name, Math.clamp(Runtime.getRuntime().availableProcessors(), 1, MOST_THREADS));
    }
  }

  /** Of tensor streams. */
  public StreamPortSettings(
      String keys,
      @Nullable InetSocketAddress address,
      boolean secured,
      @Nullable Path socket,
      int maxConnections,
      long connectionBytes) {
    this(
        keys,
        address,
        secured,
        socket,
        maxConnections,
        connectionBytes,
        Threads.ofProcessors("tstream"));
  }

  /**
   * @param port below 0 for none
   * @param host null for every address of the machine
   */
  public static @Nullable InetSocketAddress address(int port, @Nullable InetAddress host) {
    if (port < 0) {
      return null;
    }
    return host == null ? new InetSocketAddress(port) : new InetSocketAddress(host, port);
  }
}
