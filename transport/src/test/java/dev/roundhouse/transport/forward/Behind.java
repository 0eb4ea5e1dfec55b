package dev.roundhouse.transport.forward;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** A server that requests are sent on to, and that answers as a test's script says. */
final class Behind implements AutoCloseable {
  final String name;
  final BlockingQueue<Asked> asked = new LinkedBlockingQueue<>();
  final AtomicInteger connections = new AtomicInteger();

  /** Connections that the other side has ended. */
  final AtomicInteger ended = new AtomicInteger();

  volatile Script script = Asked::echo;

  /** What is done first with a connection. */
  volatile OnConnection onConnection = socket -> {};

  private final ServerSocket listening;
  private final Thread accepting;
  private final Set<Socket> open = ConcurrentHashMap.newKeySet();

  /** How a request is answered; an exception ends its connection. */
  @FunctionalInterface
  interface Script {
    void answer(Asked asked) throws IOException;
  }

  /** See {@link #onConnection}. */
  @FunctionalInterface
  interface OnConnection {
    void accept(Socket socket) throws IOException;
  }

  Behind(String name) throws IOException {
    this(name, new ServerSocket(0, 50, InetAddress.getLoopbackAddress()));
  }

  Behind(String name, ServerSocket listening) {
    this.name = name;
    this.listening = listening;
    accepting = Thread.ofVirtual().start(this::accept);
  }

  /** As operators write it. */
  InetSocketAddress address() {
    return InetSocketAddress.createUnresolved("localhost", listening.getLocalPort());
  }

  Asked next() throws InterruptedException {
    return Objects.requireNonNull(asked.poll(30, TimeUnit.SECONDS), "nothing was asked");
  }

  private void accept() {
    try {
      while (true) {
        Socket socket = listening.accept();
        open.add(socket);
        connections.incrementAndGet();
        Thread.ofVirtual().start(() -> serve(socket));
      }
    } catch (IOException closed) {
      return;
    }
  }

  private void serve(Socket socket) {
    try (socket) {
      onConnection.accept(socket);
      InputStream in = new BufferedInputStream(socket.getInputStream());
      while (true) {
        String head;
        try {
          head = head(in);
        } catch (IOException gone) {
          ended.incrementAndGet();
          return;
        }
        Asked next = new Asked(head, in, socket);
        asked.add(next);
        script.answer(next);
      }
    } catch (IOException e) {
      return;
    } finally {
      open.remove(socket);
    }
  }

  private static String head(InputStream in) throws IOException {
    StringBuilder head = new StringBuilder();
    while (head.indexOf("\r\n\r\n") < 0) {
      head.append((char) next(in));
    }
    return head.toString();
  }

  private static int next(InputStream in) throws IOException {
    int next = in.read();
    if (next < 0) {
      throw new EOFException();
    }
    return next;
  }

  /** No further connections. */
  void refuse() throws IOException {
    listening.close();
    try {
      accepting.join(); // until then the system still takes them
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() throws IOException {
    refuse();
    for (Socket socket : open) {
      socket.close();
    }
  }

  /** One request. */
  final class Asked {
    final String head;
    final Socket socket;
    private final InputStream in;

    Asked(String head, InputStream in, Socket socket) {
      this.head = head;
      this.in = in;
      this.socket = socket;
    }

    /** A field's values, in one text; empty when there is none. */
    String field(String name) {
      StringBuilder values = new StringBuilder();
      for (String line : head.split("\r\n")) {
        if (line.toLowerCase(Locale.ROOT).startsWith(name.toLowerCase(Locale.ROOT) + ":")) {
          values.append(line.substring(name.length() + 1).strip());
        }
      }
      return values.toString();
    }

    byte[] body() throws IOException {
      if (!field("transfer-encoding").equals("chunked")) {
        String length = field("content-length");
        return in.readNBytes(length.isEmpty() ? 0 : Integer.parseInt(length));
      }
      ByteArrayOutputStream body = new ByteArrayOutputStream();
      while (true) {
        int size = Integer.parseInt(line(), 16);
        body.write(in.readNBytes(size));
        line();
        if (size == 0) {
          return body.toByteArray();
        }
      }
    }

    /** Of the body as it comes; below 0 at the end of the connection. */
    int read(byte[] into) throws IOException {
      return in.read(into);
    }

    private String line() throws IOException {
      StringBuilder line = new StringBuilder();
      for (int next = next(in); next != '\n'; next = next(in)) {
        if (next != '\r') {
          line.append((char) next);
        }
      }
      return line.toString();
    }

    void echo() throws IOException {
      answer(200, body());
    }

    void answer(int code, byte[] body, String... fields) throws IOException {
      StringBuilder answer = new StringBuilder("HTTP/1.1 " + code + " X\r\n");
      for (String field : fields) {
        answer.append(field).append("\r\n");
      }
      answer.append("X-Server: ").append(name).append("\r\n");
      write(answer + "Content-Length: " + body.length + "\r\n\r\n");
      socket.getOutputStream().write(body);
    }

    void write(String text) throws IOException {
      OutputStream out = socket.getOutputStream();
      out.write(text.getBytes(StandardCharsets.ISO_8859_1));
      out.flush();
    }

    /** Waits until the other side has ended the connection. */
    void awaitEnd() throws IOException {
      try {
        while (in.read() >= 0) {
          continue;
        }
      } catch (IOException reset) {
        // that is its end, too
      }
      ended.incrementAndGet();
      throw new EOFException();
    }

    /** Goes on with an answer until the other side has ended the connection. */
    void writeUntilEnd(String head) throws IOException {
      write(head);
      byte[] piece = new byte[1_000];
      try {
        while (true) {
          socket.getOutputStream().write(piece);
        }
      } catch (IOException end) {
        ended.incrementAndGet();
        throw end;
      }
    }
  }
}
