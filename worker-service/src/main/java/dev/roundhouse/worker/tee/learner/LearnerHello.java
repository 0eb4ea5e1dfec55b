package dev.roundhouse.worker.tee.learner;

import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.platform.tstream.HelloRefusedException;
import io.netty.buffer.ByteBuf;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/**
 * What a learner says first: {@code TEE1}, the lengths of two texts, the digest that it was built
 * for, the texts. Little-endian.
 *
 * @param digest of the batches' spec; 0 when it does not know
 * @param token that says who it is; empty for none
 */
record LearnerHello(String model, String token, long digest) {
  /** {@code TEE1}, read as a number. */
  static final int MAGIC = 'T' | 'E' << 8 | 'E' << 16 | '1' << 24;

  static final int HEAD_BYTES = 16;
  static final int MOST_BYTES = 16 << 10;

  private static final int MODEL_AT = 4;
  private static final int TOKEN_AT = 6;
  private static final int DIGEST_AT = 8;

  /**
   * How long it is, of which something has come.
   *
   * @throws HelloRefusedException when it cannot become one
   */
  static int length(ByteBuf begun) throws HelloRefusedException {
    for (int i = 0; i < Math.min(begun.readableBytes(), Integer.BYTES); i++) {
      if (begun.getByte(i) != (byte) (MAGIC >>> 8 * i)) {
        throw bad(
            "what came does not begin with 'TEE1'; learners connect to this port, and nobody else");
      }
    }
    if (begun.readableBytes() < HEAD_BYTES) {
      return HEAD_BYTES;
    }
    int length =
        HEAD_BYTES + begun.getUnsignedShortLE(MODEL_AT) + begun.getUnsignedShortLE(TOKEN_AT);
    if (length > MOST_BYTES) {
      throw bad("the hello has %d bytes, and %d are allowed".formatted(length, MOST_BYTES));
    }
    return length;
  }

  /** Reads a whole one. */
  static LearnerHello read(ByteBuf whole) throws HelloRefusedException {
    int model = whole.getUnsignedShortLE(MODEL_AT);
    int token = whole.getUnsignedShortLE(TOKEN_AT);
    return new LearnerHello(
        text(whole, HEAD_BYTES, model, "the model's name"),
        text(whole, HEAD_BYTES + model, token, "the token"),
        whole.getLongLE(DIGEST_AT));
  }

  private static String text(ByteBuf from, int at, int bytes, String what)
      throws HelloRefusedException {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(from.nioBuffer(at, bytes)).toString();
    } catch (CharacterCodingException e) {
      throw bad(what + " is no UTF-8");
    }
  }

  private static HelloRefusedException bad(String why) {
    return new HelloRefusedException(HelloStatus.BAD_HELLO, why);
  }

  /** Without the token, which is nobody's business. */
  @Override
  public String toString() {
    return "hello of a learner of model '" + model + "'";
  }
}
