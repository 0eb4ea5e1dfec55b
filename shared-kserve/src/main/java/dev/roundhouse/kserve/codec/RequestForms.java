package dev.roundhouse.kserve.codec;

import dev.roundhouse.kserve.status.WireException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * Forms of the requests that a thread reads, so that one that comes again need not be read field by
 * field. Its size is fixed, whatever comes: 256 forms of up to half a KiB. For one thread.
 */
final class RequestForms {
  private static final int ENTRIES = 256;

  /** Of requests without a form, one in so many gets one: those that never come again cost less. */
  private static final int KEPT = 8;

  private final @Nullable RequestForm[] forms = new @Nullable RequestForm[ENTRIES];
  private int unknown;

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
    if (++unknown < KEPT || end - begin < RequestForm.SHORTEST) {
      return;
    }
    unknown = 0;
    WireRequest checked;
    try {
      checked = RequestCheck.check(read);
    } catch (WireException refused) {
      return; // its client is told when it is checked
    }
    RequestForm form = RequestForm.of(in, read, checked);
    if (form != null) {
      forms[entry(in, begin, end)] = form;
    }
  }

  private static int entry(ByteBuffer in, int begin, int end) {
    long hash = RequestForm.hash(in, begin, end);
    return (int) (hash >>> Long.SIZE - Integer.numberOfTrailingZeros(ENTRIES));
  }
}
