package dev.roundhouse.node.plan;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Stream;

/**
 * Free ports for processes that listen later, and again after each restart: none that the system
 * may give to a connection meanwhile, such as one that a gateway makes to a worker that does not
 * listen yet.
 *
 * @param first the lowest
 * @param last the highest; below the first when there are none
 */
record FreePorts(int first, int last) {
  private static final FreePorts NONE = new FreePorts(1, 0);
  private static final Path RANGE_OF_CONNECTIONS =
      Path.of("/proc/sys/net/ipv4/ip_local_port_range");

  private static final int LEAST = 20_000; // the product's own are below
  private static final int MOST = 65_535;

  /** Fewer may all be in use. */
  private static final int ENOUGH = 1_000;

  private static final int TRIES = 100;

  static FreePorts ofThisMachine() {
    // not Files.readString: it reads one byte first, and the kernel has nothing for a second read
    try (BufferedReader file = Files.newBufferedReader(RANGE_OF_CONNECTIONS)) {
      String connections = file.readLine();
      return connections == null ? NONE : outside(connections);
    } catch (IOException unknown) {
      return NONE;
    }
  }

  /**
   * @param connections first and last port that the system gives to connections, with space between
   */
  static FreePorts outside(String connections) {
    int[] range = Stream.of(connections.split("\\s+")).mapToInt(Integer::parseInt).toArray();
    FreePorts below = new FreePorts(LEAST, range[0] - 1);
    FreePorts above = new FreePorts(Math.max(LEAST, range[1] + 1), MOST);
    return below.count() >= above.count() ? below : above;
  }

  private int count() {
    return last - first + 1;
  }

  /** Listens at one of them; at one of the system's choice when there are too few. */
  ServerSocket listen(InetAddress address) throws IOException {
    if (count() >= ENOUGH) {
      for (int i = 0; i < TRIES; i++) {
        try {
          return listen(address, ThreadLocalRandom.current().nextInt(first, last + 1));
        } catch (IOException inUse) {
          // the next
        }
      }
    }
    return listen(address, 0);
  }

  static ServerSocket listen(InetAddress address, int port) throws IOException {
    ServerSocket socket = new ServerSocket();
    try {
      socket.setReuseAddress(true); // as those that will listen there do
      socket.bind(new InetSocketAddress(address, port));
      return socket;
    } catch (IOException e) {
      socket.close();
      throw e;
    }
  }
}
