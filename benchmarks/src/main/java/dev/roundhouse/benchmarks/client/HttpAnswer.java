package dev.roundhouse.benchmarks.client;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/** Reads answers of HTTP/1.1 that are OK and say their length. */
final class HttpAnswer {
  private static final String LENGTH = "\r\ncontent-length:";
  private static final int MOST_HEAD = 4096;

  private final byte[] head = new byte[MOST_HEAD];
  private int headBytes;
  private int bodyBytes;
  private int left;

  /** Negative until the head has been read. */
  void begin() {
    headBytes = 0;
    left = -1;
  }

  boolean isOpen() {
    return left != 0;
  }

  int bodyBytes() {
    return bodyBytes;
  }

  /** Takes all that belongs to the answer; returns what is of the body. */
  ByteBuffer take(ByteBuffer in) throws IOException {
    while (left < 0 && in.hasRemaining()) {
      takeHead(in.get());
    }
    ByteBuffer body = in.slice(in.position(), Math.max(0, Math.min(left, in.remaining())));
    in.position(in.position() + body.remaining());
    left -= body.remaining();
    if (left == 0 && in.hasRemaining()) {
      throw new IOException("%d bytes after the answer".formatted(in.remaining()));
    }
    return body;
  }

  private void takeHead(byte next) throws IOException {
    if (headBytes == MOST_HEAD) {
      throw new IOException("an answer with a head of more than %d bytes".formatted(MOST_HEAD));
    }
    head[headBytes++] = next;
    if (next == '\n' && headBytes >= 4 && head[headBytes - 3] == '\n') {
      String text = new String(head, 0, headBytes, StandardCharsets.ISO_8859_1);
      bodyBytes = length(text.toLowerCase(Locale.ROOT));
      left = bodyBytes;
    }
  }

  private static int length(String text) throws IOException {
    int at = text.indexOf(LENGTH);
    if (!text.startsWith("http/1.1 200 ") || at < 0) {
      throw new IOException("not an OK answer that says its length: " + text.strip());
    }
    int from = at + LENGTH.length();
    return Integer.parseInt(text.substring(from, text.indexOf('\r', from)).strip());
  }
}
