package dev.roundhouse.worker.transport.text;

import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.platform.rest.DocumentMemory;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Texts of one request, in UTF-8. For one thread. */
final class Texts {
  /** In one request: what public servers allow at most. */
  static final int MOST = 10_000;

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
    memory.keep(2 * text.length(), DocumentMemory.ENTRY_BYTES); // of UTF-8, at most
    texts.add(utf8(text, field, texts.size()));
  }

  int size() {
    return texts.size();
  }

  byte[] get(int index) {
    return texts.get(index);
  }

  static byte[] utf8(String text, String field, int index) {
    try {
      ByteBuffer bytes = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
      byte[] exact = new byte[bytes.remaining()];
      bytes.get(exact);
      return exact;
    } catch (CharacterCodingException e) {
      throw WireException.invalidArgument(
          "text %d of '%s' has half of a surrogate pair; UTF-8 has no form for it"
              .formatted(index, field));
    }
  }
}
