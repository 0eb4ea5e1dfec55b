package dev.roundhouse.kserve.codec;

import dev.roundhouse.kserve.status.WireException;
import java.nio.ByteBuffer;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * Forms of the requests that a thread reads, so that one that comes again need not be read field by
 * field. Its size is fixed, whatever comes: 256 forms of up to half a KiB. For one thread.
 */
final class RequestForms {
  private static final int ENTRIES = 256;

  /** Of requests without a form that is known, one in so many gets one: others cost nothing. */
  private static final int KEPT = 8;

  private final @Nullable RequestForm[] forms = new @Nullable RequestForm[ENTRIES];

  /** By chance: each second, or each eighth, might always be one that has no form. */
  private final SplittableRandom chance = new SplittableRandom();

  /**
   * The message, when it has a form that is known; else null.
   *
   * @param in little-endian
   */
  @Nullable InferMessage read(ByteBuffer in, int begin, int end, MessageMemory memory) {
    if (end - begin < RequestForm.SHORTEST) {
      return null;
    }
    RequestForm form = forms[entry(in, begin, end)];
    return form == null ? null : form.read(in, begin, end, memory);
  }

  /**
   * Takes note of a message that has no form that is known.
   *
   * @param in little-endian
   */
  void note(ByteBuffer in, int begin, int end, ReadMessage read) throws MalformedMessageException {
    if (end - begin < RequestForm.SHORTEST || chance.nextInt(KEPT) > 0) {
      return;
    }
    try {
      RequestForm form = RequestForm.of(in, read);
      if (form != null) {
        forms[entry(in, begin, end)] = form;
      }
    } catch (WireException refused) {
      return; // its client is told when it is checked
    }
  }

  private static int entry(ByteBuffer in, int begin, int end) {
    long hash = RequestForm.hash(in, begin, end);
    return (int) (hash >>> Long.SIZE - Integer.numberOfTrailingZeros(ENTRIES));
  }
}
