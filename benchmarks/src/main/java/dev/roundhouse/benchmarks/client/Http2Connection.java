package dev.roundhouse.benchmarks.client;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Selector;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;

/**
 * The client's end of an HTTP/2 connection (RFC 9113): frames, flow control, and calls to one gRPC
 * method. Header fields that come back are not read: an answer is known by its data. Frames are of
 * 16 KiB both ways, the fields of all calls but the first are indexed, as grpc-go has it.
 */
final class Http2Connection implements Closeable {
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final int BUFFER = 256 << 10;
  private static final int HEADER = 9;
  private static final int MOST_PAYLOAD = 16 << 10;
  private static final int DEFAULT_WINDOW = 65_535;
  private static final int DEFAULT_TABLE = 4096;

  /** Told to the server for every stream and for the connection; topped up when half is used. */
  private static final int WINDOW = Integer.MAX_VALUE;

  private static final int DATA = 0;
  private static final int HEADERS = 1;
  private static final int RST_STREAM = 3;
  private static final int SETTINGS = 4;
  private static final int PING = 6;
  private static final int GOAWAY = 7;
  private static final int WINDOW_UPDATE = 8;
  private static final int END_STREAM = 1;
  private static final int ACK = 1;
  private static final int END_HEADERS = 4;
  private static final int PADDED = 8;

  private static final int HEADER_TABLE_SIZE = 1;
  private static final int INITIAL_WINDOW_SIZE = 4;

  private final Selector selector;
  private final Wire wire;
  private final CallHeaders headers;
  private final ByteBuffer out = ByteBuffer.allocateDirect(BUFFER);
  private final ArrayDeque<Http2Call> unsent = new ArrayDeque<>();
  private final Map<Integer, Http2Call> open = new HashMap<>();
  private int nextStream = 1;
  private boolean settled;
  private int initialWindow = DEFAULT_WINDOW;
  private long window = DEFAULT_WINDOW;
  private long uncredited;

  /**
   * Connects to a port of this machine and waits for the server's settings.
   *
   * @param path of the method that all calls go to
   */
  Http2Connection(int port, String path) throws IOException {
    selector = Selector.open();
    wire = new Wire(port, selector, BUFFER);
    headers = new CallHeaders(path, "127.0.0.1:" + port);
    out.put("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
    frame(6, SETTINGS, 0, 0);
    out.putShort((short) INITIAL_WINDOW_SIZE).putInt(WINDOW);
    credit(0, WINDOW - DEFAULT_WINDOW);
    while (!settled) {
      turn(NOBODY);
    }
  }

  private static final Http2Listener NOBODY =
      new Http2Listener() {
        @Override
        public void onData(int stream, ByteBuffer bytes) {}

        @Override
        public void onEnd(int stream) {}
      };

  /** A call with one message, which goes with the next {@link #turn}. */
  Http2Call unary(ByteBuffer message) {
    return call(message, true);
  }

  /** A call with as many messages as are asked for by {@link #send}. */
  Http2Call stream(ByteBuffer message) {
    return call(message, false);
  }

  private Http2Call call(ByteBuffer message, boolean unary) {
    Http2Call call = new Http2Call(nextStream, message, unary, initialWindow);
    nextStream += 2;
    open.put(call.stream, call);
    unsent.add(call);
    return call;
  }

  /** Sends the message of a stream once more. */
  void send(Http2Call call) {
    call.oneMore();
    unsent.add(call);
  }

  void end(Http2Call call) {
    call.end();
    unsent.add(call);
  }

  Http2Call call(int stream) throws IOException {
    Http2Call call = open.get(stream);
    if (call == null) {
      throw new IOException("a frame of stream %d, which is not open".formatted(stream));
    }
    return call;
  }

  /** Sends what can be sent, sleeps until something comes, and tells {@code listener}. */
  void turn(Http2Listener listener) throws IOException {
    flush();
    if (selector.select(PATIENCE.toMillis()) == 0) {
      throw new IOException("the server has not answered for %d s".formatted(PATIENCE.toSeconds()));
    }
    selector.selectedKeys().clear();
    wire.read();
    ByteBuffer in = wire.in;
    while (in.remaining() >= HEADER && in.remaining() >= HEADER + length(in)) {
      int length = length(in);
      int type = in.get(in.position() + 3);
      int flags = in.get(in.position() + 4);
      int stream = in.getInt(in.position() + 5) & Integer.MAX_VALUE;
      int end = in.position() + HEADER + length;
      onFrame(type, flags, stream, in.slice(in.position() + HEADER, length), listener);
      in.position(end);
    }
  }

  /** Until all has been sent, the server's windows are used up or the socket takes no more. */
  private void flush() throws IOException {
    boolean progress;
    do {
      for (int waiting = unsent.size(); waiting > 0; waiting--) {
        Http2Call call = unsent.remove();
        if (!push(call)) {
          unsent.add(call);
        }
      }
      progress = out.position() > 0;
      wire.write(out.flip());
      out.compact();
    } while (progress && out.position() == 0 && !unsent.isEmpty());
  }

  private static int length(ByteBuffer in) throws IOException {
    int length = in.getInt(in.position()) >>> 8;
    if (length > MOST_PAYLOAD) {
      throw new IOException("a frame of %d bytes; at most %d".formatted(length, MOST_PAYLOAD));
    }
    return length;
  }

  /** True when nothing of it is left to be sent. */
  private boolean push(Http2Call call) {
    if (!call.started) {
      byte[] block = headers.block();
      if (!fits(block.length)) {
        return false;
      }
      frame(block.length, HEADERS, END_HEADERS, call.stream);
      out.put(block);
      call.started = true;
      headers.setSent();
    }
    while (call.hasMessage()) {
      int length = Math.min(call.message.remaining(), MOST_PAYLOAD);
      length = (int) Math.min(length, Math.min(window, call.window));
      if (length <= 0 || !fits(length)) {
        return false;
      }
      frame(length, DATA, call.endsWith(length) ? END_STREAM : 0, call.stream);
      out.put(call.take(length));
      window -= length;
    }
    if (call.mustEnd() && fits(0)) {
      frame(0, DATA, END_STREAM, call.stream);
      call.setEnded();
    }
    return call.isSent();
  }

  /** Leaves room for answers to the server's own frames. */
  private boolean fits(int length) {
    return out.remaining() >= HEADER + length + (1 << 10);
  }

  private void frame(int length, int type, int flags, int stream) {
    out.putInt(length << 8 | type).put((byte) flags).putInt(stream);
  }

  private void onFrame(int type, int flags, int stream, ByteBuffer bytes, Http2Listener listener)
      throws IOException {
    switch (type) {
      case DATA -> {
        if ((flags & PADDED) != 0) {
          throw new IOException("padded data, which this client does not read");
        }
        creditLater(call(stream), bytes.remaining());
        listener.onData(stream, bytes);
        endIf((flags & END_STREAM) != 0, stream, listener);
      }
      case HEADERS -> endIf((flags & END_STREAM) != 0, stream, listener);
      case RST_STREAM ->
          throw new IOException("the server reset a call, error code " + bytes.getInt());
      case SETTINGS -> {
        if ((flags & ACK) == 0) {
          onSettings(bytes);
        }
      }
      case PING -> {
        if ((flags & ACK) == 0) {
          frame(bytes.remaining(), PING, ACK, 0);
          out.put(bytes);
        }
      }
      case GOAWAY ->
          throw new IOException("the server is going away, error code " + bytes.getInt(4));
      case WINDOW_UPDATE -> onWindowUpdate(stream, bytes.getInt() & Integer.MAX_VALUE);
      default -> {} // as RFC 9113 5.5 wants it; CONTINUATION carries header fields only
    }
  }

  private void endIf(boolean ended, int stream, Http2Listener listener) throws IOException {
    if (ended) {
      listener.onEnd(stream);
      open.remove(stream);
    }
  }

  private void onSettings(ByteBuffer bytes) {
    while (bytes.hasRemaining()) {
      int setting = bytes.getShort();
      int value = bytes.getInt();
      if (setting == INITIAL_WINDOW_SIZE) {
        int more = value - initialWindow;
        open.values().forEach(call -> call.window += more);
        initialWindow = value;
      } else if (setting == HEADER_TABLE_SIZE && value < DEFAULT_TABLE) {
        headers.neverIndex();
      }
    }
    settled = true;
    frame(0, SETTINGS, ACK, 0);
  }

  private void onWindowUpdate(int stream, int more) {
    if (stream == 0) {
      window += more;
      return;
    }
    Http2Call call = open.get(stream);
    if (call != null) { // else it has ended meanwhile
      call.window += more;
    }
  }

  private void creditLater(Http2Call call, int bytes) {
    uncredited += bytes;
    call.uncredited += bytes;
    if (uncredited > WINDOW / 2) {
      credit(0, (int) uncredited);
      uncredited = 0;
    }
    if (call.uncredited > WINDOW / 2) {
      credit(call.stream, (int) call.uncredited);
      call.uncredited = 0;
    }
  }

  private void credit(int stream, int bytes) {
    frame(4, WINDOW_UPDATE, 0, stream);
    out.putInt(bytes);
  }

  @Override
  public void close() throws IOException {
    wire.close();
    selector.close();
  }
}
