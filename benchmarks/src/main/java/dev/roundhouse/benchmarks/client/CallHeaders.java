package dev.roundhouse.benchmarks.client;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * The header fields of a gRPC call in HPACK (RFC 7541). The first call has the server keep them,
 * the others name them by their index.
 */
final class CallHeaders {
  /** Of the static table: {@code :method: POST} and {@code :scheme: http}. */
  private static final List<Integer> STATIC = List.of(0x83, 0x86);

  private static final int LITERAL_KEPT = 0x40;
  private static final int LITERAL = 0x00;
  private static final int INDEXED = 0x80;
  private static final int FIRST_KEPT = 62;
  private static final int TABLE_SIZE_ZERO = 0x20;
  private static final int MOST_LENGTH = 126; // of a string whose length takes one byte

  private record Field(String name, String value) {}

  private final List<Field> fields;
  private byte[] block;
  private boolean indexed = true;

  CallHeaders(String path, String authority) {
    fields =
        List.of(
            new Field(":path", path),
            new Field(":authority", authority),
            new Field("te", "trailers"),
            new Field("content-type", "application/grpc"),
            new Field("user-agent", "roundhouse-bench"));
    block = literal(LITERAL_KEPT).toByteArray();
  }

  /** Of the next call. */
  byte[] block() {
    return block;
  }

  void setSent() {
    if (!indexed) {
      block = literal(LITERAL).toByteArray();
      return;
    }
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    STATIC.forEach(bytes::write);
    // What was kept last has the lowest index.
    for (int i = fields.size() - 1; i >= 0; i--) {
      bytes.write(INDEXED | FIRST_KEPT + i);
    }
    block = bytes.toByteArray();
  }

  /** The server keeps less than usual, so nothing is kept from here on. */
  void neverIndex() {
    indexed = false;
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    bytes.write(TABLE_SIZE_ZERO);
    bytes.writeBytes(literal(LITERAL).toByteArray());
    block = bytes.toByteArray();
  }

  private ByteArrayOutputStream literal(int kind) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    STATIC.forEach(bytes::write);
    for (Field field : fields) {
      bytes.write(kind);
      write(bytes, field.name());
      write(bytes, field.value());
    }
    return bytes;
  }

  private static void write(ByteArrayOutputStream bytes, String text) {
    byte[] ascii = text.getBytes(StandardCharsets.US_ASCII);
    if (ascii.length > MOST_LENGTH) {
      throw new IllegalArgumentException(
          "'%s' has %d bytes; at most %d".formatted(text, ascii.length, MOST_LENGTH));
    }
    bytes.write(ascii.length);
    bytes.writeBytes(ascii);
  }
}
