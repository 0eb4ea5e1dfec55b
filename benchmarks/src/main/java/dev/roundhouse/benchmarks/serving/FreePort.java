package dev.roundhouse.benchmarks.serving;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;

/** Ports for servers that take no port 0. */
public final class FreePort {
  private FreePort() {}

  /** Whoever takes it before the server does makes the server's start fail, by name. */
  public static int find() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }
}
