package dev.roundhouse.worker.transport.tstream;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.PlacedData;
import dev.roundhouse.kserve.tstream.StreamOption;
import dev.roundhouse.kserve.tstream.StreamSpec;
import dev.roundhouse.kserve.tstream.StreamTensor;
import dev.roundhouse.transport.memory.CountedRoot;
import dev.roundhouse.transport.memory.MemoryBudget;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MessageCutterTest {
  private static final PooledByteBufAllocator ALLOCATOR = PooledByteBufAllocator.DEFAULT;
  private static final int MESSAGES = 200;

  private final CountedRoot root = new CountedRoot(Long.MAX_VALUE / 4, "");
  private final Seen seen = new Seen();

  /** Bytes of all messages, in order, however they were cut. */
  private static final class Seen implements MessageCutter.Taker {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final List<String> forgotten = new ArrayList<>();
    private int large;

    private void add(ByteBuffer message) {
      byte[] copy = new byte[message.remaining()];
      message.get(copy);
      bytes.writeBytes(copy);
    }

    @Override
    public void onMessages(Messages messages) {
      for (int i = 0; i < messages.count(); i++) {
        add(messages.message(i));
      }
    }

    @Override
    public void onRows(int count) {
      throw new AssertionError("there are no blocks to read them to");
    }

    @Override
    public void onLarge(LargeMessage message) {
      large++;
      add(message.bytes());
      for (InputTensor input : message.inputs()) {
        PlacedData data = (PlacedData) input.data();
        assertThat(data.address(0) % PlacedData.ALIGNMENT).isZero();
      }
      message.release();
    }

    @Override
    public void onForgotten(String why) {
      forgotten.add(why);
    }
  }

  private MemoryBudget budget() {
    return new MemoryBudget() {
      @Override
      public @Nullable String take(long bytes) {
        return root.take(bytes) ? null : "no room";
      }

      @Override
      public void giveBack(long bytes) {
        root.giveBack(bytes);
      }
    };
  }

  private static MessageLayout layout(int elements, Set<StreamOption> options) {
    StreamTensor input = new StreamTensor("x", DType.U8, Shape.of(1, elements));
    return MessageLayout.of(new StreamSpec(List.of(input), List.of(input)), options);
  }

  private MessageCutter cutter(MessageLayout layout) {
    return new MessageCutter(layout, ALLOCATOR, budget(), null, seen);
  }

  @ParameterizedTest
  @CsvSource({
    "1, false",
    "13, false",
    "4096, false",
    "70001, false",
    "70001, true",
    "300000, true"
  })
  void shouldCutWhatComesInAnyPiecesIntoTheSameMessages(int elements, boolean lends) {
    Random random = new Random(elements);
    MessageLayout layout = layout(elements, Set.of(StreamOption.DEADLINE, StreamOption.CHECKSUM));
    assertThat(layout.bytes()).isEqualTo(elements + 8);
    MessageCutter cutter = cutter(layout);
    int count = elements > 4096 ? 12 : MESSAGES;
    byte[] sent = new byte[count * layout.bytes()];
    random.nextBytes(sent);
    int at = 0;
    while (at < sent.length) {
      ByteBuf place = lends ? cutter.lend() : null;
      ByteBuf read = place == null ? ALLOCATOR.directBuffer(1 << 16, 1 << 16) : place;
      int most = Math.min(read.writableBytes(), sent.length - at);
      int some = random.nextInt(5) == 0 ? most : random.nextInt(most + 1);
      read.writeBytes(sent, at, some);
      at += some;
      if (some > 0) {
        cutter.read(read);
        assertThat(read.isReadable()).isFalse();
      }
      read.release();
      if (random.nextBoolean()) {
        cutter.onReadComplete();
        assertThat(cutter.isAmidMessage()).isEqualTo(at % layout.bytes() != 0);
        int missing = at % layout.bytes() == 0 ? 0 : layout.bytes() - at % layout.bytes();
        assertThat(cutter.missing()).isEqualTo(missing);
        assertThat(root.held()).isEqualTo(missing == 0 ? 0 : layout.bytes());
      }
    }
    cutter.onReadComplete();
    assertThat(seen.bytes.toByteArray()).isEqualTo(sent);
    assertThat(seen.large).isEqualTo(elements > 1 << 16 ? count : 0);
    assertThat(seen.forgotten).isEmpty();
    cutter.close();
    assertThat(root.held()).isZero();
  }

  @ParameterizedTest
  @CsvSource({"100, false", "100000, false", "100000, true"})
  void shouldForgetAMessageThereIsNoMemoryForAndNoneBesides(int elements, boolean lends) {
    MessageLayout layout = layout(elements, Set.of());
    MessageCutter cutter = cutter(layout);
    byte[] sent = new byte[3 * elements];
    new Random(7).nextBytes(sent);
    send(cutter, lends, sent, 0, elements); // whole at once where it is small
    root.takeAnyway(Long.MAX_VALUE / 4);
    send(cutter, lends, sent, elements, elements / 2);
    assertThat(cutter.missing()).isEqualTo(elements - elements / 2);
    root.giveBack(Long.MAX_VALUE / 4);
    send(cutter, lends, sent, elements + elements / 2, elements - elements / 2);
    send(cutter, lends, sent, 2 * elements, elements);
    assertThat(seen.forgotten).containsExactly("no room");
    byte[] others = Arrays.copyOf(sent, 2 * elements);
    System.arraycopy(sent, 2 * elements, others, elements, elements);
    assertThat(seen.bytes.toByteArray()).isEqualTo(others);
    cutter.close();
    assertThat(root.held()).isZero();
  }

  @Test
  void shouldKeepNothingForBytesThatDoNotCome() {
    MessageCutter cutter = cutter(layout(1 << 20, Set.of()));
    ByteBuf place = Objects.requireNonNull(cutter.lend());
    assertThat(root.held()).isEqualTo(1 << 20);
    place.release();
    cutter.onReadComplete();
    assertThat(root.held()).isZero();
    assertThat(cutter.isAmidMessage()).isFalse();
  }

  private static void send(MessageCutter cutter, boolean lends, byte[] from, int at, int count) {
    int sent = 0;
    while (sent < count) {
      ByteBuf place = lends ? cutter.lend() : null;
      ByteBuf read = place == null ? ALLOCATOR.directBuffer(1 << 16, 1 << 16) : place;
      int some = Math.min(count - sent, read.writableBytes());
      read.writeBytes(from, at + sent, some);
      cutter.read(read);
      read.release();
      sent += some;
    }
    cutter.onReadComplete();
  }
}
