package dev.roundhouse.worker.transport.text;

import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.platform.rest.DocumentMemory;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Texts of one request, in UTF-8. For one thread. */
final class Texts {
  /** In one request: what public servers allow at most. */
  static final int MOST = 10_000;

  /** Of an array besides its bytes, and its place in the list. */
  private static final int ARRAY_BYTES = 32;

  private final DocumentMemory memory;
  private final String field;
  private final List<byte[]> texts = new ArrayList<>();

  /**
   * @param memory counts them
   * @param field what they are called
   */
  Texts(DocumentMemory memory, String field) {
    this.memory = memory;
    this.field = field;
  }

  void add(String text) {
    if (texts.size() == MOST) {
      throw WireException.invalidArgument(
          "'%s' has more texts than %d, the limit of one request; send the rest in another"
              .formatted(field, MOST));
    }
    texts.add(utf8(text, field, texts.size(), memory));
  }

  int size() {
    return texts.size();
  }

  byte[] get(int index) {
    return texts.get(index);
  }

  /**
   * A text as it is kept.
   *
   * @param memory is told of its bytes before they are taken
   */
  static byte[] utf8(String text, String field, int index, DocumentMemory memory) {
    memory.count(ARRAY_BYTES + utf8Length(text, field, index));
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static long utf8Length(String text, String field, int index) {
    long bytes = text.length();
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c >= 0x80) {
        if (!Character.isSurrogate(c)) {
          bytes += c < 0x800 ? 1 : 2;
        } else if (i + 1 < text.length() && Character.isSurrogatePair(c, text.charAt(i + 1))) {
          bytes += 2; // four for the two
          i++;
        } else {
          throw WireException.invalidArgument(
              "text %d of '%s' has half of a surrogate pair; UTF-8 has no form for it"
                  .formatted(index, field));
        }
      }
    }
    return bytes;
  }
}
