package dev.roundhouse.kserve.codec;

import dev.roundhouse.kserve.status.WireException;
import java.nio.ByteBuffer;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * Templates of the requests that a thread has read, so that a repeated one need not be parsed field
 * by field. At most 256, of up to half a KiB each. For one thread.
 */
final class RequestTemplates {
  private static final int ENTRIES = 256;

  /** One in so many requests without a template gets one; the others cost nothing. */
  private static final int KEPT = 8;

  private final @Nullable RequestTemplate[] templates = new @Nullable RequestTemplate[ENTRIES];

  /** Random, because every second or every eighth request might be one without a template. */
  private final SplittableRandom chance = new SplittableRandom();

  /**
   * The message, when it matches a template; else null.
   *
   * @param in little-endian
   */
  @Nullable InferMessage read(ByteBuffer in, int begin, int end, MessageMemory memory) {
    if (end - begin < RequestTemplate.SHORTEST) {
      return null;
    }
    RequestTemplate template = templates[entry(in, begin, end)];
    return template == null ? null : template.read(in, begin, end, memory);
  }

  /**
   * May keep a template of a message that matched none.
   *
   * @param in little-endian
   */
  void note(ByteBuffer in, int begin, int end, ReadMessage read) throws MalformedMessageException {
    if (end - begin < RequestTemplate.SHORTEST || chance.nextInt(KEPT) > 0) {
      return;
    }
    try {
      RequestTemplate template = RequestTemplate.of(in, read);
      if (template != null) {
        templates[entry(in, begin, end)] = template;
      }
    } catch (WireException refused) {
      return; // its client is told when it is checked
    }
  }

  private static int entry(ByteBuffer in, int begin, int end) {
    long hash = RequestTemplate.hash(in, begin, end);
    return (int) (hash >>> Long.SIZE - Integer.numberOfTrailingZeros(ENTRIES));
  }
}
