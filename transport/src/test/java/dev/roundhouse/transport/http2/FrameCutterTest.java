package dev.roundhouse.transport.http2;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.transport.io.Leaks;
import dev.roundhouse.transport.io.ReceiveBuffers;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.util.concurrent.FastThreadLocal;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class FrameCutterTest {
  private static final int END_STREAM = 1;
  private static final int END_HEADERS = 4;

  private final EmbeddedChannel channel = new EmbeddedChannel(new FrameCutter());

  @AfterEach
  void shouldLeaveNothingBehind() {
    channel.finishAndReleaseAll();
    FastThreadLocal.removeAll(); // the buffer that sockets of this thread would be read into
    Leaks.awaitNone();
  }

  @Test
  void shouldPassWholeFramesHoweverTheyArrive() {
    Random random = new Random(7);
    byte[] all = conversation(random, 300);
    ByteArrayOutputStream passed = new ByteArrayOutputStream();
    int sent = 0;
    while (sent < all.length) {
      int count = Math.min(all.length - sent, 1 + random.nextInt(40_000));
      ByteBuf part = channel.alloc().directBuffer(count);
      part.writeBytes(all, sent, count);
      sent += count;
      channel.writeInbound(part);
      passed.writeBytes(passed(passed.size() == 0));
    }
    assertThat(passed.toByteArray()).isEqualTo(all);
  }

  @Test
  void shouldPassDataOnBeforeAllOfItHasCome() {
    FrameCutter cutter = channel.pipeline().get(FrameCutter.class);
    channel.writeInbound(received(RawClient.PREFACE));
    passed(true);
    byte[] payload = new byte[10_000];
    new Random(3).nextBytes(payload);
    byte[] frame = RawClient.frameBytes(RawClient.DATA, END_STREAM, 5, payload);
    channel.writeInbound(received(Arrays.copyOfRange(frame, 0, 4_009)));
    assertThat(frames(passed(false)))
        .containsExactly(new Frame(RawClient.DATA, 0, 5, Arrays.copyOfRange(payload, 0, 4_000)));
    assertThat(cutter.isWithin()).isTrue();
    assertThat(cutter.ends()).isZero();
    assertThat(cutter.dataBytes()).isEqualTo(4_000);
    channel.writeInbound(received(Arrays.copyOfRange(frame, 4_009, 4_010)));
    assertThat(frames(passed(false)))
        .containsExactly(
            new Frame(RawClient.DATA, 0, 5, Arrays.copyOfRange(payload, 4_000, 4_001)));
    assertThat(cutter.dataBytes()).isEqualTo(4_001);
    byte[] rest = Arrays.copyOfRange(frame, 4_010, frame.length);
    channel.writeInbound(Unpooled.copiedBuffer(rest)); // without room before it
    assertThat(frames(passed(false)))
        .containsExactly(
            new Frame(RawClient.DATA, END_STREAM, 5, Arrays.copyOfRange(payload, 4_001, 10_000)));
    assertThat(cutter.isWithin()).isFalse();
    assertThat(cutter.ends()).isEqualTo(1);
  }

  @Test
  void shouldPassTheSameDataWhereverReadsEnd() {
    Random random = new Random(11);
    byte[] all = conversation(random, 400);
    List<Frame> passed = new ArrayList<>();
    int sent = 0;
    while (sent < all.length) {
      int most = random.nextBoolean() ? 60 : 60_000;
      int count = Math.min(all.length - sent, 1 + random.nextInt(most));
      channel.writeInbound(received(Arrays.copyOfRange(all, sent, sent + count)));
      boolean first = sent < RawClient.PREFACE.length;
      sent += count;
      byte[] now = passed(first);
      int preface = first && now.length > 0 ? RawClient.PREFACE.length : 0;
      passed.addAll(frames(Arrays.copyOfRange(now, preface, now.length)));
    }
    byte[] expected = Arrays.copyOfRange(all, RawClient.PREFACE.length, all.length);
    assertThat(joined(passed)).isEqualTo(frames(expected));
  }

  /** As a socket is read. */
  private ByteBuf received(byte[] bytes) {
    return new ReceiveBuffers().newHandle().allocate(channel.alloc()).writeBytes(bytes);
  }

  private record Frame(int type, int flags, int stream, byte[] payload) {
    @Override
    public boolean equals(Object other) {
      return other instanceof Frame that
          && type == that.type
          && flags == that.flags
          && stream == that.stream
          && Arrays.equals(payload, that.payload);
    }

    @Override
    public int hashCode() {
      return Objects.hash(type, flags, stream, Arrays.hashCode(payload));
    }
  }

  private static List<Frame> frames(byte[] bytes) {
    List<Frame> all = new ArrayList<>();
    ByteBuf in = Unpooled.wrappedBuffer(bytes);
    while (in.isReadable()) {
      byte[] payload = new byte[in.readUnsignedMedium()];
      int type = in.readByte();
      int flags = in.readByte();
      int stream = in.readInt();
      in.readBytes(payload);
      all.add(new Frame(type, flags, stream, payload));
    }
    return all;
  }

  /** Puts data together that was passed on in pieces: each stream of the test has one frame. */
  private static List<Frame> joined(List<Frame> pieces) {
    List<Frame> all = new ArrayList<>();
    for (Frame piece : pieces) {
      Frame last = all.isEmpty() ? null : all.getLast();
      if (last == null || last.stream != piece.stream) {
        all.add(piece);
      } else {
        assertThat(last.flags).as("flags of what is not the last piece").isZero();
        byte[] both = Arrays.copyOf(last.payload, last.payload.length + piece.payload.length);
        System.arraycopy(piece.payload, 0, both, last.payload.length, piece.payload.length);
        all.set(all.size() - 1, new Frame(piece.type, piece.flags, piece.stream, both));
      }
    }
    return all;
  }

  @Test
  void shouldPassWhatCannotBeAFrame() {
    channel.writeInbound(Unpooled.copiedBuffer(RawClient.PREFACE));
    passed(true);
    byte[] huge = {1, 0, 0, 0, 0, 0, 0, 0, 1, 42};
    channel.writeInbound(Unpooled.copiedBuffer(huge, 0, 5));
    assertThat(passed(false)).isEmpty();
    channel.writeInbound(Unpooled.copiedBuffer(huge, 5, 5));
    assertThat(passed(false)).as("the decoder says that it is too large").hasSize(10);
    channel.writeInbound(Unpooled.copiedBuffer(new byte[3]));
    assertThat(passed(false)).hasSize(3);
  }

  @Test
  void shouldForgetWhatIsIncompleteWhenTheConnectionCloses() {
    channel.writeInbound(Unpooled.copiedBuffer(RawClient.PREFACE, 0, 10));
    channel.close();
    assertThat(passed(true)).isEmpty();
  }

  /** What came through since the last look, each piece of which must be of whole frames. */
  private byte[] passed(boolean first) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    boolean preface = first;
    for (ByteBuf read = channel.readInbound(); read != null; read = channel.readInbound()) {
      ByteBuf part = read.slice();
      int at = preface ? RawClient.PREFACE.length : 0;
      preface = false;
      while (at + 9 <= part.readableBytes() && part.getUnsignedMedium(at) <= 1 << 14) {
        at += 9 + part.getUnsignedMedium(at);
      }
      if (at + 9 > part.readableBytes() && part.readableBytes() > 9) {
        assertThat(at).isEqualTo(part.readableBytes());
      }
      byte[] bytes = new byte[part.readableBytes()];
      part.readBytes(bytes);
      all.writeBytes(bytes);
      part.release();
    }
    return all.toByteArray();
  }

  private static byte[] conversation(Random random, int frames) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    all.writeBytes(RawClient.PREFACE);
    for (int i = 0; i < frames; i++) {
      byte[] payload =
          new byte[random.nextInt(3) == 0 ? random.nextInt((1 << 14) + 1) : random.nextInt(30)];
      random.nextBytes(payload);
      boolean data = random.nextInt(4) > 0;
      int flags = data ? random.nextInt(2) * END_STREAM : END_HEADERS;
      all.writeBytes(
          RawClient.frameBytes(data ? RawClient.DATA : RawClient.HEADERS, flags, i, payload));
    }
    return all.toByteArray();
  }
}
