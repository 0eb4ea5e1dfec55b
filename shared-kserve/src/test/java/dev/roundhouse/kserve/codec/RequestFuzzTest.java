package dev.roundhouse.kserve.codec;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.DiscardUnknownFieldsParser;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Parser;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.status.WireException;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Damaged requests, which must be read as protobuf reads them or be refused where it does. {@code
 * -Dcodec.rounds=5000000} has so many of them, {@code -Dcodec.seed=7} the same ones again; {@code
 * ./roundhouse test --fuzz} sets the first.
 */
class RequestFuzzTest {
  private static final int MOST_TOLD = 10;
  private static final byte[] TELLING = {0, 1, 0x7f, (byte) 0x80, (byte) 0xff};
  private static final Parser<ModelInferRequest> PROTOBUF =
      DiscardUnknownFieldsParser.wrap(ModelInferRequest.parser());

  private final long seed = Long.getLong("codec.seed", System.nanoTime());
  private final int rounds = Integer.getInteger("codec.rounds", 80_000);
  private final Random random = new Random(seed);
  private final List<String> disagreements = new ArrayList<>();
  private int accepted;
  private int refused;
  private int disagreed;
  private int known;
  private int strings;

  /** Refused here, as by protobuf for C++, and read by protobuf for Java. */
  private int stricter;

  /** Refused because of a limit that protobuf does not have. */
  private int limited;

  @Test
  void shouldAgreeWithProtobufOnDamagedMessages() {
    List<byte[]> whole =
        List.of(
            SampleRequests.typed().build().toByteArray(),
            SampleRequests.raw().build().toByteArray(),
            SampleRequests.sound().build().toByteArray(),
            SampleRequests.sound().build().toByteArray(), // twice, for the sake of templates
            SampleRequests.rawStrings().build().toByteArray(),
            SampleRequests.typedStrings().build().toByteArray());
    for (int round = 0; round < rounds; round++) {
      byte[] message = damaged(whole);
      compare(round, message);
      compareWithKnown(round, message);
      checkStrings(round, message);
    }
    System.out.printf(
        "fuzz of requests: seed %d, executions %d, accepted %d (%d by a template; %d tensors of strings), refused %d (%d of them as C++ does and Java does not, %d by a limit), disagreements %d%n",
        seed, rounds, accepted, known, strings, refused, stricter, limited, disagreed);
    assertThat(disagreements).as("seed %d, %d disagreements", seed, disagreed).isEmpty();
    assertThat(accepted).as("seed %d", seed).isBetween(rounds / 200, rounds - rounds / 200);
    assertThat(strings).as("seed %d", seed).isGreaterThan(rounds / 200);
    assertThat(known).as("seed %d", seed).isBetween(rounds / 200, accepted - rounds / 200);
  }

  private void compare(int round, byte[] message) {
    ModelInferRequest expected = parsed(message);
    try {
      ReadMessage read = RequestParser.readAnew(ByteBuffer.wrap(message));
      accepted++;
      if (expected == null) {
        disagree(round, message, "protobuf refuses it");
      } else if (!Written.of(read).equals(Written.kept(expected))) {
        disagree(round, message, "protobuf reads something else");
      }
    } catch (MalformedMessageException refusal) {
      refused++;
      // Protobuf for Java ends a number at its tenth byte, even when that says that another
      // follows. Protobuf for C++, which Triton has, refuses it, as is done here.
      if (refusal.toString().contains("more than ten bytes")) {
        stricter += expected == null ? 0 : 1;
      } else if (expected != null) {
        disagree(round, message, "protobuf reads it: " + refusal);
      }
    } catch (WireException limit) {
      refused++;
      limited++;
      if (expected != null && !isBeyondLimits(expected)) {
        disagree(round, message, "protobuf reads it: " + limit);
      }
    } catch (Exception thrown) {
      disagree(round, message, thrown.toString());
    }
  }

  /** A message that matches a template is read as it would be without. */
  private void compareWithKnown(int round, byte[] message) {
    try {
      InferMessage read = RequestParser.read(new ByteArrayInputStream(message), message.length);
      if (read instanceof KnownMessage again) {
        known++;
        WireRequest anew = RequestCheck.check(RequestParser.readAnew(ByteBuffer.wrap(message)));
        if (!again.request().equals(anew)) {
          disagree(round, message, "what is known of it is " + again + " and not " + anew);
        }
      }
    } catch (IOException | WireException refused) {
      return; // it has been compared
    }
  }

  /** Strings that are accepted are as many as the shape says, each with all its bytes. */
  private void checkStrings(int round, byte[] message) {
    WireRequest request;
    try {
      request = RequestCheck.check(RequestParser.readAnew(ByteBuffer.wrap(message)));
    } catch (IOException | WireException refused) {
      return; // it has been compared
    }
    for (WireInput input : request.inputs()) {
      if (input.dtype() == DType.BYTES && input.data() instanceof WireInput.Inline(var data)) {
        strings++;
        if (!isWhole(data, input.shape().elementCount())) {
          disagree(round, message, "'" + input.name() + "' is not so many whole strings");
        }
      }
    }
  }

  private static boolean isWhole(ByteBuffer data, long count) {
    ByteBuffer rest = data.duplicate().order(ByteOrder.LITTLE_ENDIAN);
    for (long i = 0; i < count; i++) {
      if (rest.remaining() < Integer.BYTES) {
        return false;
      }
      int length = rest.getInt();
      if (length < 0 || length > rest.remaining()) {
        return false;
      }
      rest.position(rest.position() + length);
    }
    return !rest.hasRemaining();
  }

  /** Of the limits, the only one that so few bytes can pass. */
  private static boolean isBeyondLimits(ModelInferRequest request) {
    return request.getInputsList().stream()
        .anyMatch(input -> input.getShapeCount() > MessageLimits.DIMENSIONS);
  }

  private void disagree(int round, byte[] message, String what) {
    disagreed++;
    if (disagreements.size() < MOST_TOLD) {
      disagreements.add("round %d, %s: %s".formatted(round, what, Arrays.toString(message)));
    }
  }

  private byte[] damaged(List<byte[]> whole) {
    byte[] message = any(whole).clone();
    for (int i = random.nextInt(3); i >= 0 && message.length > 0; i--) {
      message = damagedOnce(message, whole);
    }
    return message;
  }

  private byte[] damagedOnce(byte[] message, List<byte[]> whole) {
    int at = random.nextInt(message.length);
    switch (random.nextInt(8)) {
      case 0 -> {
        return Arrays.copyOf(message, at);
      }
      case 1 -> {
        return spliced(message, at, message, at + random.nextInt(message.length - at));
      }
      case 2 -> {
        return spliced(message, at, message, random.nextInt(at + 1));
      }
      case 3 -> {
        byte[] other = any(whole);
        return spliced(message, at, other, random.nextInt(other.length));
      }
      case 4 -> message[at] = TELLING[random.nextInt(TELLING.length)];
      case 5 -> message[at] ^= (byte) (1 << random.nextInt(8));
      default -> message[at] = (byte) random.nextInt();
    }
    return message;
  }

  /** The beginning of one, and the end of the other. */
  private static byte[] spliced(byte[] one, int end, byte[] other, int from) {
    byte[] both = Arrays.copyOf(one, end + other.length - from);
    System.arraycopy(other, from, both, end, other.length - from);
    return both;
  }

  private byte[] any(List<byte[]> whole) {
    return whole.get(random.nextInt(whole.size()));
  }

  /** What protobuf reads; null when it refuses it. */
  private static @Nullable ModelInferRequest parsed(byte[] message) {
    try {
      return PROTOBUF.parseFrom(message);
    } catch (InvalidProtocolBufferException refusal) {
      return null;
    }
  }
}
