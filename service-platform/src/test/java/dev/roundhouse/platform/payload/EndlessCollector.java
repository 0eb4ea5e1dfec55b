package dev.roundhouse.platform.payload;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicInteger;

/** A collector that takes each event with a status at once, and never ends the body behind it. */
final class EndlessCollector implements AutoCloseable {
  private static final byte[] HEAD =
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
          .getBytes(StandardCharsets.US_ASCII);
  private static final byte[] CHUNK = "1\r\nx\r\n".getBytes(StandardCharsets.US_ASCII);

  private final ServerSocket server;
  private final boolean drips;
  private final AtomicInteger begun = new AtomicInteger();
  private final AtomicInteger ended = new AtomicInteger();

  /**
   * @param drips whether a piece of the body comes again and again, or nothing of it
   */
  EndlessCollector(boolean drips) throws IOException {
    this.drips = drips;
    server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    Thread.ofVirtual().start(this::accept);
  }

  private void accept() {
    try {
      while (true) {
        Socket each = server.accept();
        Thread.ofVirtual().start(() -> answer(each));
      }
    } catch (IOException closed) {
      // the test is over
    }
  }

  private void answer(Socket client) {
    try (client;
        InputStream in = client.getInputStream();
        OutputStream out = client.getOutputStream()) {
      if (in.read() < 0) {
        return;
      }
      begun.incrementAndGet();
      out.write(HEAD);
      while (drips) {
        out.write(CHUNK);
        Thread.sleep(5);
      }
      in.transferTo(OutputStream.nullOutputStream()); // until the client closes
      ended.incrementAndGet();
    } catch (IOException reset) {
      ended.incrementAndGet();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  String url() {
    return "http://127.0.0.1:" + server.getLocalPort() + "/";
  }

  /** Connections on which an answer was begun. */
  int begun() {
    return begun.get();
  }

  /** Those of them that the client has closed. */
  int ended() {
    return ended.get();
  }

  @Override
  public void close() throws IOException {
    server.close();
  }
}
