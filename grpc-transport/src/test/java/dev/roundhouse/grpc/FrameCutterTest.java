package dev.roundhouse.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import java.io.ByteArrayOutputStream;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class FrameCutterTest {
  private final EmbeddedChannel channel = new EmbeddedChannel(new FrameCutter());

  @AfterEach
  void shouldLeaveNothingBehind() {
    channel.finishAndReleaseAll();
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
    for (ByteBuf part = channel.readInbound(); part != null; part = channel.readInbound()) {
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
      all.writeBytes(RawClient.frameBytes(RawClient.DATA, 0, i, payload));
    }
    return all.toByteArray();
  }
}
