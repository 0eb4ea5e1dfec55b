package dev.roundhouse.transport.http1;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/** A client that writes what it likes; for tests of other packages too. */
public final class Peer implements AutoCloseable {
  public static final String INTERIM = "HTTP/1.1 100 Continue\r\n\r\n";

  public final Socket socket;
  private final InputStream in;

  public Peer(int port) throws IOException {
    socket = new Socket(InetAddress.getLoopbackAddress(), port);
    socket.setSoTimeout(60_000);
    in = socket.getInputStream();
  }

  public Peer send(String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(StandardCharsets.ISO_8859_1));
    return this;
  }

  /** A request with a body. */
  public static String post(String path, String body) {
    return "POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s"
        .formatted(path, body.length(), body);
  }

  public static String get(String path) {
    return "GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n";
  }

  /** Up to the empty line. */
  public String head() throws IOException {
    StringBuilder head = new StringBuilder();
    while (head.indexOf("\r\n\r\n") < 0) {
      int next = in.read();
      if (next < 0) {
        throw new IOException("the connection ended after '" + head + "'");
      }
      head.append((char) next);
    }
    return head.toString();
  }

  /** The next answer: its status and its body. */
  public String answer() throws IOException {
    return answer(head());
  }

  /** As {@link #answer()}, after those that are not the last word. */
  public String lastAnswer() throws IOException {
    String head = head();
    while (head.equals(INTERIM)) {
      head = head();
    }
    return answer(head);
  }

  private String answer(String head) throws IOException {
    String code = head.substring(9, 12);
    String lower = head.toLowerCase(Locale.ROOT);
    StringBuilder body = new StringBuilder();
    if (lower.contains("transfer-encoding: chunked")) {
      for (int size = Integer.parseInt(line(), 16); size > 0; ) {
        body.append(new String(in.readNBytes(size), StandardCharsets.ISO_8859_1));
        line();
        size = Integer.parseInt(line(), 16);
      }
      line();
    } else {
      int at = lower.indexOf("content-length: ") + "content-length: ".length();
      int length = Integer.parseInt(head.substring(at, head.indexOf('\r', at)));
      body.append(new String(in.readNBytes(length), StandardCharsets.ISO_8859_1));
    }
    return code + " " + body;
  }

  private String line() throws IOException {
    StringBuilder line = new StringBuilder();
    for (int next = in.read(); next != '\n'; next = in.read()) {
      if (next < 0) {
        throw new IOException("the connection ended");
      }
      if (next != '\r') {
        line.append((char) next);
      }
    }
    return line.toString();
  }

  /** How many bytes come, of so many. */
  public long readBytes(long most) throws IOException {
    byte[] piece = new byte[1 << 16];
    long bytes = 0;
    while (bytes < most) {
      int count = in.read(piece, 0, (int) Math.min(piece.length, most - bytes));
      if (count < 0) {
        return bytes;
      }
      bytes += count;
    }
    return bytes;
  }

  /** All that comes until the connection ends. */
  public String rest() throws IOException {
    StringBuilder text = new StringBuilder();
    try {
      for (int next = in.read(); next >= 0; next = in.read()) {
        text.append((char) next);
      }
    } catch (SocketException reset) {
      return text.toString();
    }
    return text.toString();
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
