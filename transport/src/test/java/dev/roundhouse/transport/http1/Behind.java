package dev.roundhouse.transport.http1;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A server on a domain socket that is stricter than a real one: it refuses what concerns one
 * connection only and was handed on all the same. What it answers, its routes say.
 */
final class Behind implements AutoCloseable {
  private final ServerSocketChannel listening;
  private final Set<SocketChannel> open = ConcurrentHashMap.newKeySet();
  private volatile boolean closed;
  final AtomicInteger connections = new AtomicInteger();

  /** Answers to {@code /later} that may be given. */
  final Semaphore mayAnswer = new Semaphore(0);

  /** Bytes of bodies that have come. */
  final AtomicInteger bodyBytes = new AtomicInteger();

  Behind(Path path) throws IOException {
    listening = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    listening.bind(UnixDomainSocketAddress.of(path));
    Thread.ofVirtual().start(this::accept);
  }

  private void accept() {
    try {
      while (true) {
        SocketChannel socket = listening.accept();
        open.add(socket);
        if (closed) {
          socket.close(); // it came while the last accept ended
          return;
        }
        connections.incrementAndGet();
        Thread.ofVirtual().start(() -> serve(socket));
      }
    } catch (IOException ended) {
      return;
    }
  }

  private void serve(SocketChannel socket) {
    try (socket) {
      InputStream in = new BufferedInputStream(Channels.newInputStream(socket));
      OutputStream out = Channels.newOutputStream(socket);
      boolean more = true;
      while (more) {
        more = answer(in, out);
      }
    } catch (IOException ended) {
      return;
    } finally {
      open.remove(socket);
    }
  }

  private boolean answer(InputStream in, OutputStream out) throws IOException {
    String head = head(in);
    String[] line = head.substring(0, head.indexOf('\r')).split(" ");
    String lower = head.toLowerCase(Locale.ROOT);
    if (lower.contains("\r\nexpect:") || lower.contains("\r\nx-hop:")) {
      send(out, 500, "what concerns one connection was handed on");
      return false;
    }
    String path = line[1];
    if (path.equals("/client")) {
      body(in, lower);
      send(out, 200, lower.replaceAll("(?s).*?(client-was: [^\\r]*).*", "$1"));
      return true;
    }
    if (path.equals("/early")) {
      send(out, 404, "nobody wants it");
    }
    byte[] body = body(in, lower);
    switch (path) {
      case "/early" -> {}
      case "/chunks" -> {
        write(out, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        write(out, "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
      }
      case "/wide" -> {
        write(out, "HTTP/1.1 200 OK\r\nContent-Length: " + (64 << 20) + "\r\n\r\n");
        byte[] piece = new byte[1 << 16];
        for (int i = 0; i < 1 << 10; i++) {
          out.write(piece);
        }
      }
      case "/last" -> {
        write(out, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\nlast");
        return false;
      }
      case "/cut" -> {
        write(out, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
        return false;
      }
      case "/none" -> {
        return false;
      }
      case "/later" -> {
        mayAnswer.acquireUninterruptibly();
        send(out, 200, "behind later");
      }
      default -> {
        if (line[0].equals("HEAD")) {
          write(out, "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n");
        } else {
          send(out, 200, "behind " + path + " " + new String(body, StandardCharsets.US_ASCII));
        }
      }
    }
    return true;
  }

  private static void send(OutputStream out, int code, String text) throws IOException {
    write(out, "HTTP/1.1 " + code + " X\r\nContent-Length: " + text.length() + "\r\n\r\n" + text);
  }

  private static void write(OutputStream out, String text) throws IOException {
    out.write(text.getBytes(StandardCharsets.US_ASCII));
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

  private byte[] body(InputStream in, String head) throws IOException {
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    if (head.contains("transfer-encoding: chunked")) {
      while (true) {
        int size = Integer.parseInt(line(in), 16);
        copy(in, size, body);
        line(in);
        if (size == 0) {
          return body.toByteArray();
        }
      }
    }
    int at = head.indexOf("\r\ncontent-length: ");
    if (at >= 0) {
      int from = at + "\r\ncontent-length: ".length();
      copy(in, Integer.parseInt(head.substring(from, head.indexOf('\r', from))), body);
    }
    return body.toByteArray();
  }

  private void copy(InputStream in, int size, OutputStream to) throws IOException {
    for (int i = 0; i < size; i++) {
      to.write(next(in));
      bodyBytes.incrementAndGet();
    }
  }

  private static String line(InputStream in) throws IOException {
    StringBuilder line = new StringBuilder();
    for (int next = next(in); next != '\n'; next = next(in)) {
      if (next != '\r') {
        line.append((char) next);
      }
    }
    return line.toString();
  }

  @Override
  public void close() throws IOException {
    closed = true;
    listening.close();
    for (SocketChannel socket : open) {
      socket.close();
    }
  }
}
