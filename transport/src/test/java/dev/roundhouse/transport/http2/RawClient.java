package dev.roundhouse.transport.http2;

import io.grpc.Status;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** A client that sends frames as it is told to, right or wrong. For one thread. */
public final class RawClient implements AutoCloseable {
  public static final int DATA = 0;
  public static final int HEADERS = 1;
  public static final int PRIORITY = 2;
  public static final int RST_STREAM = 3;
  public static final int SETTINGS = 4;
  public static final int PUSH_PROMISE = 5;
  public static final int PING = 6;
  public static final int GOAWAY = 7;
  public static final int WINDOW_UPDATE = 8;
  public static final int CONTINUATION = 9;

  public static final int END_STREAM = 1;
  public static final int ACK = 1;
  public static final int END_HEADERS = 4;
  public static final int PADDED = 8;

  public static final byte[] PREFACE =
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

  private final Socket socket;
  private final DataOutputStream out;
  private final DataInputStream in;
  private final DefaultHttp2HeadersDecoder headersDecoder = new DefaultHttp2HeadersDecoder(false);

  /** What the server has sent. */
  public record Frame(
      int type, int flags, int stream, byte[] payload, @Nullable Http2Headers headers) {
    /** Of the trailers that this frame must be. */
    public Status.Code status() {
      if (headers == null || headers.get("grpc-status") == null) {
        throw new AssertionError("a frame of type " + type + " has no status");
      }
      return Status.fromCodeValue(Integer.parseInt(headers.get("grpc-status").toString()))
          .getCode();
    }

    public String text() {
      return new String(payload, StandardCharsets.ISO_8859_1);
    }

    public int number(int offset) {
      return (payload[offset] & 0xff) << 24
          | (payload[offset + 1] & 0xff) << 16
          | (payload[offset + 2] & 0xff) << 8
          | payload[offset + 3] & 0xff;
    }
  }

  public RawClient(int port) throws IOException {
    socket = new Socket(InetAddress.getLoopbackAddress(), port);
    socket.setTcpNoDelay(true);
    socket.setSoTimeout(20_000);
    out = new DataOutputStream(new BufferedOutputStream(socket.getOutputStream(), 1 << 16));
    in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
  }

  /** What every connection begins with. */
  public RawClient settings() throws IOException {
    out.write(PREFACE);
    frame(SETTINGS, 0, 0, new byte[0]);
    return this;
  }

  /** Remembers this many bytes of headers that the server has it remember. */
  public void rememberHeaders(long bytes) throws IOException {
    try {
      headersDecoder.maxHeaderTableSize(bytes);
    } catch (Http2Exception e) {
      throw new IOException(e);
    }
  }

  /** What comes until the server closes its side. */
  public String rest() throws IOException {
    return new String(in.readAllBytes(), StandardCharsets.ISO_8859_1);
  }

  /** Sends bytes as they are. */
  public void bytes(byte[] bytes) throws IOException {
    out.write(bytes);
    out.flush();
  }

  public void frame(int type, int flags, int stream, byte[] payload) throws IOException {
    quietly(type, flags, stream, payload);
    out.flush();
  }

  /** Leaves the frame in the client's own buffer, to be sent with others. */
  public void quietly(int type, int flags, int stream, byte[] payload) throws IOException {
    out.write(frameBytes(type, flags, stream, payload));
  }

  public static byte[] frameBytes(int type, int flags, int stream, byte[] payload) {
    byte[] frame = new byte[9 + payload.length];
    frame[0] = (byte) (payload.length >> 16);
    frame[1] = (byte) (payload.length >> 8);
    frame[2] = (byte) payload.length;
    frame[3] = (byte) type;
    frame[4] = (byte) flags;
    number(stream, frame, 5);
    System.arraycopy(payload, 0, frame, 9, payload.length);
    return frame;
  }

  public static void number(int value, byte[] to, int offset) {
    to[offset] = (byte) (value >> 24);
    to[offset + 1] = (byte) (value >> 16);
    to[offset + 2] = (byte) (value >> 8);
    to[offset + 3] = (byte) value;
  }

  public static byte[] number(int value) {
    byte[] bytes = new byte[4];
    number(value, bytes, 0);
    return bytes;
  }

  /** So many, one after the other, all of which leave before anything is answered. */
  public void pings(int count) throws IOException {
    for (int i = 0; i < count; i++) {
      byte[] payload = new byte[8];
      number(i, payload, 4);
      quietly(PING, 0, 0, payload);
    }
    out.flush();
  }

  /** Header fields as literals that nobody is to remember. */
  public static byte[] headers(String... namesAndValues) {
    ByteArrayOutputStream block = new ByteArrayOutputStream();
    for (int i = 0; i < namesAndValues.length; i += 2) {
      block.write(0);
      text(namesAndValues[i], block);
      text(namesAndValues[i + 1], block);
    }
    return block.toByteArray();
  }

  private static void text(String text, ByteArrayOutputStream block) {
    byte[] bytes = text.getBytes(StandardCharsets.ISO_8859_1);
    integer(bytes.length, block);
    block.writeBytes(bytes);
  }

  private static void integer(int value, ByteArrayOutputStream block) {
    if (value < 127) {
      block.write(value);
      return;
    }
    block.write(127);
    int rest = value - 127;
    while (rest >= 128) {
      block.write(rest & 127 | 128);
      rest >>= 7;
    }
    block.write(rest);
  }

  /** What begins a call of a method, with more fields if wanted. */
  public static byte[] call(String method, String... more) {
    String[] fields = {
      ":method", "POST",
      ":scheme", "http",
      ":path", "/test.Test/" + method,
      ":authority", "a",
      "content-type", "application/grpc",
      "te", "trailers"
    };
    String[] all = Arrays.copyOf(fields, fields.length + more.length);
    System.arraycopy(more, 0, all, fields.length, more.length);
    return headers(all);
  }

  /** A message as gRPC frames it. */
  public static byte[] message(int length) {
    byte[] framed = new byte[5 + length];
    number(length, framed, 1);
    return framed;
  }

  /** Begins a call, sends a message of it and ends the request. */
  public void call(int stream, String method, int length) throws IOException {
    quietly(HEADERS, END_HEADERS, stream, call(method));
    frame(DATA, END_STREAM, stream, message(length));
  }

  public Frame read() throws IOException {
    int length = in.readUnsignedByte() << 16 | in.readUnsignedShort();
    int type = in.readUnsignedByte();
    int flags = in.readUnsignedByte();
    int stream = in.readInt() & Integer.MAX_VALUE;
    byte[] payload = in.readNBytes(length);
    if (payload.length < length) {
      throw new EOFException("within a frame");
    }
    return new Frame(type, flags, stream, payload, type == HEADERS ? decoded(payload) : null);
  }

  private Http2Headers decoded(byte[] block) throws IOException {
    ByteBuf bytes = Unpooled.wrappedBuffer(block);
    try {
      return headersDecoder.decodeHeaders(1, bytes);
    } catch (Http2Exception e) {
      throw new IOException(e);
    } finally {
      bytes.release();
    }
  }

  /** Says that nothing more will be sent, and goes on reading. */
  public void shutdownOutput() throws IOException {
    out.flush();
    socket.shutdownOutput();
  }

  /** Reads on to a frame of a type. */
  public Frame await(int type) throws IOException {
    for (Frame frame = read(); ; frame = read()) {
      if (frame.type() == type && (type != PING || (frame.flags() & ACK) == 0)) {
        return frame;
      }
    }
  }

  /** Sends a ping, and reads on to its answer: what was sent before has been dealt with then. */
  public void pingAndAwaitAnswer() throws IOException {
    pings(1);
    for (Frame frame = read(); ; frame = read()) {
      if (frame.type() == PING && (frame.flags() & ACK) != 0) {
        return;
      }
    }
  }

  /** Reads on to the end of a stream: the frame that it ends with. */
  public Frame awaitEnd(int stream) throws IOException {
    for (Frame frame = read(); ; frame = read()) {
      boolean ends =
          frame.type() == RST_STREAM
              || (frame.type() == HEADERS || frame.type() == DATA)
                  && (frame.flags() & END_STREAM) != 0;
      if (frame.stream() == stream && ends) {
        return frame;
      }
    }
  }

  /** Reads until the server has closed the connection; true when it said GOAWAY before. */
  public boolean awaitClosed() throws IOException {
    boolean told = false;
    try {
      while (true) {
        told |= read().type() == GOAWAY;
      }
    } catch (EOFException | SocketException closed) {
      return told;
    }
  }

  /** Reads whatever comes until the server has closed the connection. */
  public void drain() throws IOException {
    try {
      in.readAllBytes();
    } catch (SocketException closed) {
      return;
    }
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
