package dev.roundhouse.worker.transport.tstream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

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
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RowBlocksTest {
  private static final PooledByteBufAllocator ALLOCATOR = PooledByteBufAllocator.DEFAULT;

  private final CountedRoot root = new CountedRoot(Long.MAX_VALUE / 4, "");

  private static MessageLayout layout(int elements, Set<StreamOption> options) {
    StreamTensor input = new StreamTensor("x", DType.U8, Shape.of(1, elements));
    return MessageLayout.of(new StreamSpec(List.of(input), List.of(input)), options);
  }

  @Test
  void shouldPlaceRowsOfSeveralConnectionsOneBehindTheOther() {
    StreamTensor a = new StreamTensor("a", DType.U8, Shape.of(1, 3));
    StreamTensor b = new StreamTensor("b", DType.U8, Shape.of(1, 64));
    StreamSpec spec = new StreamSpec(List.of(a, b), List.of(a));
    MessageLayout layout = MessageLayout.of(spec, Set.of(StreamOption.DEADLINE));
    RowBlocks blocks = new RowBlocks(spec, 64, root);
    List<RowBlock> held = new ArrayList<>();
    List<List<InputTensor>> placed = new ArrayList<>();
    byte[] expectedA = new byte[12];
    byte[] expectedB = new byte[4 * 64];
    Random random = new Random(3);
    for (int connection = 0; connection < 2; connection++) {
      byte[] two = new byte[2 * layout.bytes()];
      random.nextBytes(two);
      for (int message = 0; message < 2; message++) {
        int row = 2 * connection + message;
        int start = message * layout.bytes() + layout.head();
        System.arraycopy(two, start, expectedA, row * 3, 3);
        System.arraycopy(two, start + spec.inputOffset(1), expectedB, row * 64, 64);
      }
      ByteBuf begun = ALLOCATOR.directBuffer().writeBytes(two, 0, layout.bytes());
      ByteBuf read = ALLOCATOR.directBuffer().writeBytes(two, layout.bytes(), layout.bytes());
      int count =
          blocks.place(
              new Messages(begun, read, layout, 2),
              0,
              2,
              ALLOCATOR,
              (block, inputs, some) -> {
                held.add(block);
                placed.add(inputs);
              });
      assertThat(count).isEqualTo(2);
      begun.release();
      read.release();
    }
    for (int input = 0; input < 2; input++) {
      PlacedData first = (PlacedData) placed.get(0).get(input).data();
      PlacedData second = (PlacedData) placed.get(1).get(input).data();
      assertThat(first.address(0) % PlacedData.ALIGNMENT).isZero();
      assertThat(second.block()).isSameAs(first.block());
      assertThat(second.offset()).isEqualTo(first.offset() + first.byteSize());
      MemorySegment both = first.block().asSlice(first.offset(), 2 * first.byteSize());
      assertThat(both.toArray(ValueLayout.JAVA_BYTE)).isEqualTo(input == 0 ? expectedA : expectedB);
      assertThat(placed.get(1).get(input).shape().dim(0)).isEqualTo(2);
    }
    assertThat(root.held()).isPositive();
    held.forEach(RowBlock::release);
    assertThat(root.held()).as("nobody uses them any more").isZero();
  }

  @Test
  void shouldTakeAnotherBlockWhenOneIsFullAndCountNoneBeyondTheLimit() {
    StreamSpec spec = layout(1 << 10, Set.of()).spec();
    MessageLayout layout = MessageLayout.of(spec, Set.of());
    RowBlocks blocks = new RowBlocks(spec, Integer.MAX_VALUE, root);
    List<RowBlock> held = new ArrayList<>();
    assertThat(place(blocks, layout, 60, held)).isEqualTo(60);
    assertThat(place(blocks, layout, 60, held)).as("what is left").isEqualTo(4);
    assertThat(place(blocks, layout, 60, held)).isEqualTo(60);
    assertThat(held.get(2).capacity()).as("they fill up, so it is larger").isEqualTo(128);
    long two = root.held();
    assertThat(two).isBetween(192L << 10, (192L << 10) + 200);
    held.get(0).release();
    held.get(1).release();
    assertThat(root.held()).as("the full one").isLessThan(two - (63 << 10));

    assertThat(place(blocks, layout, 60, held)).isEqualTo(60);
    assertThat(place(blocks, layout, 60, held)).isEqualTo(8);
    root.takeAnyway(Long.MAX_VALUE / 4);
    long before = root.held();
    assertThat(place(blocks, layout, 60, held)).isEqualTo(60);
    assertThat(held.getLast().capacity()).as("for these alone").isEqualTo(60);
    assertThat(root.held()).isEqualTo(before);
    root.giveBack(Long.MAX_VALUE / 4);
    held.subList(2, held.size()).forEach(RowBlock::release);
    assertThat(root.held()).isZero();
  }

  /** So that batches are full and rows in their place, whatever arrives together. */
  @Test
  void shouldPlaceNoRequestInTwoBatches() {
    StreamSpec spec = layout(1 << 10, Set.of()).spec();
    MessageLayout layout = MessageLayout.of(spec, Set.of());
    RowBlocks blocks = new RowBlocks(spec, 16, root);
    List<RowBlock> held = new ArrayList<>();
    assertThat(place(blocks, layout, 13, held)).isEqualTo(13);
    assertThat(place(blocks, layout, 13, held)).isEqualTo(3);
    assertThat(place(blocks, layout, 10, held)).isEqualTo(10);
    assertThat(place(blocks, layout, 40, held)).isEqualTo(6);
    assertThat(place(blocks, layout, 34, held)).isEqualTo(16);
    held.forEach(RowBlock::release);
    assertThat(root.held()).isZero();
  }

  private static int place(RowBlocks blocks, MessageLayout layout, int count, List<RowBlock> held) {
    ByteBuf read = ALLOCATOR.directBuffer().writeZero(count * layout.bytes());
    try {
      return blocks.place(
          new Messages(null, read, layout, count),
          0,
          count,
          ALLOCATOR,
          (block, inputs, some) -> {
            held.add(block);
            long each = (long) some * layout.bytes();
            boolean isAlone = block.capacity() == count;
            assertThat(inputs.getFirst().data().heldBytes()).isEqualTo(isAlone ? each : 0);
          });
    } finally {
      read.release();
    }
  }

  // --- read straight to their place

  /** A stream whose messages are rows, and what became of them. */
  private final class Rows implements MessageCutter.Taker {
    private final RowBlocks blocks;
    private final MessageCutter cutter;
    private final List<RowBlock> held = new ArrayList<>();
    private final List<PlacedData> placed = new ArrayList<>();
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private int copied;

    Rows(RowBlocks blocks, MessageLayout layout, CountedRoot memory) {
      this.blocks = blocks;
      cutter = new MessageCutter(layout, ALLOCATOR, budget(memory), blocks, this);
    }

    private void submit(RowBlock block, List<InputTensor> inputs, int count) {
      assertThat(inputs.getFirst().shape().dim(0)).isEqualTo(count);
      PlacedData data = (PlacedData) inputs.getFirst().data();
      MemorySegment at = data.block().asSlice(data.offset(), data.byteSize());
      bytes.writeBytes(at.toArray(ValueLayout.JAVA_BYTE));
      placed.add(data);
      held.add(block);
    }

    @Override
    public void onRows(int count) {
      blocks.submit(count, this::submit);
    }

    @Override
    public void onMessages(Messages messages) {
      copied += messages.count();
      for (int at = 0; at < messages.count(); ) {
        at += blocks.place(messages, at, messages.count() - at, ALLOCATOR, this::submit);
      }
    }

    @Override
    public void onLarge(LargeMessage message) {
      fail("it is small");
    }

    @Override
    public void onForgotten(String why) {
      fail(why);
    }

    /** As a socket does that has so many bytes. */
    int read(byte[] from, int at, int most) {
      ByteBuf place = cutter.lend();
      ByteBuf read = place == null ? ALLOCATOR.directBuffer(1 << 16, 1 << 16) : place;
      int some = Math.min(read.writableBytes(), most);
      if (some > 0) {
        read.writeBytes(from, at, some);
        cutter.read(read);
      }
      read.release();
      return some;
    }

    /** All that it was submitted is over. */
    void end() {
      held.forEach(RowBlock::release);
      held.clear();
    }
  }

  private static MemoryBudget budget(CountedRoot memory) {
    return new MemoryBudget() {
      @Override
      public @Nullable String take(long bytes) {
        return memory.take(bytes) ? null : "no room";
      }

      @Override
      public void giveBack(long bytes) {
        memory.giveBack(bytes);
      }
    };
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 13, 64, 4096, 65_536})
  void shouldReadRowsOfTwoStreamsOneBehindTheOther(int elements) {
    MessageLayout layout = layout(elements, Set.of());
    RowBlocks blocks = new RowBlocks(layout.spec(), 16, root);
    Rows[] streams = {new Rows(blocks, layout, root), new Rows(blocks, layout, root)};
    Random random = new Random(elements);
    byte[][] sent = new byte[2][100 * elements];
    int[] at = new int[2];
    for (byte[] of : sent) {
      random.nextBytes(of);
    }
    PlacedData last = null;
    int adjoining = 0;
    int requests = 0;
    while (at[0] < sent[0].length || at[1] < sent[1].length) {
      int which = random.nextInt(2);
      Rows stream = streams[which];
      int left = sent[which].length - at[which];
      int before = stream.placed.size();
      at[which] +=
          stream.read(sent[which], at[which], Math.min(left, random.nextInt(20 * elements)));
      stream.cutter.onReadComplete();
      int amid = at[which] % elements;
      assertThat(stream.cutter.isAmidMessage()).isEqualTo(amid != 0);
      assertThat(stream.cutter.missing()).isEqualTo(amid == 0 ? 0 : elements - amid);
      for (PlacedData each : stream.placed.subList(before, stream.placed.size())) {
        requests++;
        if (last != null && each.block().equals(last.block())) {
          assertThat(each.offset()).isEqualTo(last.offset() + last.byteSize());
          adjoining++;
        }
        last = each;
      }
    }
    assertThat(adjoining).isPositive().isGreaterThan(elements < 4096 ? requests / 2 : 0);
    for (int i = 0; i < 2; i++) {
      assertThat(streams[i].bytes.toByteArray()).isEqualTo(sent[i]);
      assertThat(streams[i].copied).as("none was read elsewhere").isZero();
      streams[i].cutter.close();
      streams[i].end();
    }
    assertThat(root.held()).isZero();
  }

  @Test
  void shouldSubmitNoRequestOfTwoBatchesOfWhatIsReadStraight() {
    MessageLayout layout = layout(100, Set.of());
    Rows stream = new Rows(new RowBlocks(layout.spec(), 16, root), layout, root);
    byte[] sent = new byte[100 * 100];
    assertThat(stream.read(sent, 0, 1000)).isEqualTo(1000);
    assertThat(stream.read(sent, 1000, 3000)).isEqualTo(3000);
    assertThat(stream.placed.stream().map(each -> each.byteSize() / 100))
        .containsExactly(10L, 6L, 16L, 8L);
    stream.end();
    assertThat(root.held()).isZero();
  }

  @Test
  void shouldKeepNoBlockForBytesThatDoNotCome() throws Exception {
    MessageLayout layout = layout(100, Set.of());
    RowBlocks blocks = new RowBlocks(layout.spec(), 16, root);
    Rows stream = new Rows(blocks, layout, root);
    ByteBuf place = Objects.requireNonNull(stream.cutter.lend());
    assertThat(root.held()).isPositive();
    place.release();
    stream.cutter.onReadComplete();
    assertThat(root.held()).isZero();
    assertIsFree(blocks);
    Objects.requireNonNull(stream.cutter.lend()).release();
    stream.cutter.close();
    assertThat(root.held()).isZero();
    assertIsFree(blocks);
    assertThat(stream.cutter.lend()).isNull();
  }

  private static void assertIsFree(RowBlocks blocks) throws Exception {
    boolean[] lent = new boolean[1];
    Thread other =
        Thread.ofPlatform()
            .start(
                () -> {
                  ByteBuf place = blocks.lend(0, ALLOCATOR);
                  if (place != null) {
                    lent[0] = true;
                    place.release();
                    blocks.returned();
                  }
                });
    other.join();
    assertThat(lent[0]).isTrue();
  }

  @Test
  void shouldReadElsewhereWhereThereIsNoMemoryForABlock() {
    MessageLayout layout = layout(100, Set.of());
    CountedRoot none = new CountedRoot(50, "");
    Rows stream = new Rows(new RowBlocks(layout.spec(), 16, none), layout, root);
    byte[] sent = new byte[300];
    new Random(1).nextBytes(sent);
    assertThat(stream.read(sent, 0, 300)).isEqualTo(300);
    assertThat(stream.copied).isEqualTo(3);
    assertThat(stream.bytes.toByteArray()).isEqualTo(sent);
    stream.end();
    assertThat(none.held()).isZero();
  }

  /** Its rows come behind those that are being read, however long that takes. */
  @Test
  void shouldReadElsewhereWhileAStreamOfAnotherLoopReads() throws Exception {
    MessageLayout layout = layout(100, Set.of());
    RowBlocks blocks = new RowBlocks(layout.spec(), 16, root);
    Rows here = new Rows(blocks, layout, root);
    Rows there = new Rows(blocks, layout, root);
    byte[] sent = new byte[300];
    new Random(1).nextBytes(sent);
    ByteBuf place = Objects.requireNonNull(here.cutter.lend());
    try (ExecutorService loop = Executors.newSingleThreadExecutor()) {
      CompletableFuture<Boolean> read = new CompletableFuture<>();
      Future<?> other =
          loop.submit(
              () -> {
                ByteBuf elsewhere = there.cutter.lend();
                read.complete(elsewhere == null);
                ByteBuf received = ALLOCATOR.directBuffer().writeBytes(sent);
                there.cutter.read(received); // waits for its rows' turn
                received.release();
              });
      assertThat(read.get(10, TimeUnit.SECONDS)).as("nothing is lent twice").isTrue();
      assertThat(other.isDone()).isFalse();
      place.writeBytes(sent, 0, 200);
      here.cutter.read(place);
      place.release();
      other.get(10, TimeUnit.SECONDS);
    }
    assertThat(there.copied).isEqualTo(3);
    PlacedData first = here.placed.getFirst();
    assertThat(there.placed.getFirst().offset()).isEqualTo(first.offset() + first.byteSize());
    assertThat(there.bytes.toByteArray()).isEqualTo(sent);
    here.end();
    there.end();
    assertThat(root.held()).isZero();
  }

  @Test
  void shouldNotWaitForALoopThatDiesWhileItReads() throws Exception {
    MessageLayout layout = layout(100, Set.of());
    RowBlocks blocks = new RowBlocks(layout.spec(), 16, root);
    Thread dead = Thread.ofPlatform().start(() -> blocks.lend(0, ALLOCATOR));
    dead.join();
    Rows stream = new Rows(blocks, layout, root);
    byte[] sent = new byte[300];
    new Random(1).nextBytes(sent);
    long before = root.held();
    assertThat(stream.read(sent, 0, 300)).isEqualTo(300);
    assertThat(stream.bytes.toByteArray()).isEqualTo(sent);
    assertThat(stream.placed.getFirst().heldBytes()).as("counted with its request").isEqualTo(300);
    stream.end();
    assertThat(root.held()).isEqualTo(before);
  }

  @Test
  void shouldLendNoPlaceForWhatIsMoreThanARow() {
    for (StreamOption option : List.of(StreamOption.DEADLINE, StreamOption.CHECKSUM)) {
      MessageLayout layout = layout(100, Set.of(option));
      Rows stream = new Rows(new RowBlocks(layout.spec(), 16, root), layout, root);
      assertThat(stream.cutter.lend()).isNull();
    }
    StreamTensor a = new StreamTensor("a", DType.U8, Shape.of(1, 8));
    StreamTensor b = new StreamTensor("b", DType.U8, Shape.of(1, 8));
    StreamSpec two = new StreamSpec(List.of(a, b), List.of(a));
    Rows stream = new Rows(new RowBlocks(two, 16, root), MessageLayout.of(two, Set.of()), root);
    assertThat(stream.cutter.lend()).isNull();
  }
}
