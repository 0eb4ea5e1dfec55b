package dev.roundhouse.transport.io;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class SmallWritesTest {
  private final EmbeddedChannel channel = new EmbeddedChannel(new SmallWrites());

  @AfterEach
  void shouldLeaveNothingBehind() {
    channel.finishAndReleaseAll();
    Leaks.awaitNone();
  }

  @Test
  void shouldWriteSmallOnesTogether() {
    ChannelFuture first = channel.write(text("a"));
    ChannelFuture second = channel.write(text("bc"));
    assertThat(channel.<ByteBuf>readOutbound()).isNull();
    assertThat(first.isDone()).isFalse();

    channel.flush();

    assertThat(written()).containsExactly("abc");
    assertThat(first.isSuccess()).isTrue();
    assertThat(second.isSuccess()).isTrue();
  }

  @Test
  void shouldHoldWhatItHasCopiedUntilThatHasLeft() {
    ByteBuf counted = text("counted");
    channel.write(counted);
    assertThat(counted.refCnt()).isOne();
    channel.flush();
    assertThat(counted.refCnt()).isZero();
  }

  @Test
  void shouldKeepTheOrderAndNotCopyLargeOnes() {
    ByteBuf large = channel.alloc().directBuffer().writeZero(SmallWrites.LARGEST + 1);
    channel.write(text("before"));
    channel.write(large);
    channel.write(text("after"));
    channel.flush();

    assertThat(part()).isEqualTo("before");
    ByteBuf same = channel.readOutbound();
    assertThat(same).isSameAs(large);
    same.release();
    assertThat(part()).isEqualTo("after");
  }

  @Test
  void shouldWriteEveryByteInOrder() {
    Random random = new Random(5);
    StringBuilder all = new StringBuilder();
    List<ChannelFuture> writes = new ArrayList<>();
    for (int i = 0; i < 500; i++) {
      String text = Integer.toString(i % 10).repeat(random.nextInt(2 * SmallWrites.LARGEST));
      all.append(text);
      writes.add(channel.write(text(text)));
      if (random.nextInt(20) == 0) {
        channel.flush();
      }
    }
    channel.flush();

    assertThat(String.join("", written())).isEqualTo(all.toString());
    assertThat(writes).allMatch(ChannelFuture::isSuccess);
  }

  @Test
  void shouldSayThatNothingHasLeftOfAClosedConnection() {
    channel.close();
    ByteBuf late = text("late");
    ChannelFuture write = channel.write(late);
    channel.flush();

    assertThat(write.isDone()).isTrue();
    assertThat(write.isSuccess()).isFalse();
    assertThat(late.refCnt()).isZero();
  }

  @Test
  void shouldFailWhatWasNotFlushedWhenTheConnectionEnds() {
    ByteBuf waiting = text("waiting");
    ChannelFuture write = channel.write(waiting);
    channel.unsafe().close(channel.voidPromise());
    channel.runPendingTasks();

    assertThat(write.isDone()).isTrue();
    assertThat(write.isSuccess()).isFalse();
    assertThat(waiting.refCnt()).isZero();
  }

  /** As HTTP/2 does, which says goodbye when a reset could not be written. */
  @Test
  void shouldFailWhatIsWrittenByWhoHearsOfThat() {
    ByteBuf goodbye = text("goodbye");
    channel.pipeline().addLast(new ChannelInboundHandlerAdapter());
    ChannelHandlerContext speaks = channel.pipeline().lastContext();
    speaks.write(text("a")).addListener(failed -> speaks.write(goodbye));
    channel.unsafe().close(channel.voidPromise());
    channel.runPendingTasks();
    assertThat(goodbye.refCnt()).isZero();
  }

  @Test
  void shouldWriteThemAsTheyAreWhenThereIsNoMemory() {
    ByteBuf first = text("a");
    ByteBuf second = text("b");
    channel.config().setAllocator(new NoMemory());
    ChannelFuture left = channel.write(first);
    channel.writeAndFlush(second);

    assertThat(written()).containsExactly("a", "b");
    assertThat(left.isSuccess()).isTrue();
  }

  private static final class NoMemory extends AbstractByteBufAllocator {
    @Override
    protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
      throw new OutOfMemoryError("as asked");
    }

    @Override
    protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
      throw new OutOfMemoryError("as asked");
    }

    @Override
    public boolean isDirectBufferPooled() {
      return true;
    }
  }

  private ByteBuf text(String text) {
    ByteBuf bytes = channel.alloc().directBuffer(Math.max(1, text.length()));
    bytes.writeCharSequence(text, StandardCharsets.US_ASCII);
    return bytes;
  }

  private List<String> written() {
    List<String> parts = new ArrayList<>();
    for (String part = part(); part != null; part = part()) {
      parts.add(part);
    }
    return parts;
  }

  private @Nullable String part() {
    ByteBuf next = channel.readOutbound();
    if (next == null) {
      return null;
    }
    String text = next.toString(StandardCharsets.US_ASCII);
    next.release();
    return text;
  }
}
