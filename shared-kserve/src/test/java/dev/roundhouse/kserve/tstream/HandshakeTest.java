package dev.roundhouse.kserve.tstream;

import static dev.roundhouse.kserve.tstream.StreamSpecTest.SPEC;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class HandshakeTest {
  private static final ClientHello HELLO =
      new ClientHello(
          1,
          1,
          EnumSet.of(StreamOption.DEADLINE, StreamOption.ACCEPT_NOTICES),
          256,
          4,
          0x0123_4567_89ab_cdefL,
          "größe",
          "3",
          "T=128",
          "secret",
          "in",
          "out",
          SPEC);
  private static final ServerReply REPLY =
      new ServerReply(1, HelloStatus.OK, Set.of(StreamOption.DEADLINE), 64, 7, SPEC, "");
  private static final int DAMAGES = 200_000;

  @Test
  void shouldReadTheHelloThatItHasWritten() throws Exception {
    byte[] bytes = HELLO.encoded();
    assertThat(bytes.length % 4).isZero();
    assertThat(ClientHello.length(ByteBuffer.wrap(bytes))).isEqualTo(bytes.length);
    assertThat(ClientHello.read(ByteBuffer.wrap(bytes))).isEqualTo(HELLO);
    ClientHello asks = ClientHello.of("m", null, 1);
    assertThat(ClientHello.read(ByteBuffer.wrap(asks.encoded()))).isEqualTo(asks);
  }

  @Test
  void shouldReadTheReplyThatItHasWritten() throws Exception {
    assertThat(ServerReply.read(ByteBuffer.wrap(REPLY.encoded()))).isEqualTo(REPLY);
    ServerReply refused = ServerReply.refused(HelloStatus.OTHER_SPEC, "größer");
    assertThat(ServerReply.read(ByteBuffer.wrap(refused.encoded()))).isEqualTo(refused);
  }

  @Test
  void shouldSayNothingOfTheToken() {
    assertThat(HELLO.toString()).doesNotContain("secret").contains("größe");
  }

  @Test
  void shouldTellAnotherProtocolByItsFirstByte() {
    assertThat(ClientHello.mayBegin(ByteBuffer.wrap(new byte[0]))).isTrue();
    assertThat(ClientHello.mayBegin(ByteBuffer.wrap(new byte[] {'T', 'S'}))).isTrue();
    assertThat(ClientHello.mayBegin(ByteBuffer.wrap(new byte[] {'G'}))).isFalse();
    assertThat(ClientHello.mayBegin(ByteBuffer.wrap(new byte[] {'T', 'S', 'R', 'X'}))).isFalse();
  }

  @Test
  void shouldNameWhatIsWrong() {
    refuses(0, 'X', "the hello begins with 58 53 52 4d, and TSTREAM begins with 54 53 52 4d");
    refuses(10, 9, "from 48 to 65536 are allowed");
    refuses(8, HELLO.encoded().length - 1, "spec");
    refuses(44, 1, "bytes 44 to 47 of the hello are not 0");
    refuses(32, 0xf0, "says that its texts have");
    refuses(48, 0xff, "the model's name is no UTF-8");
    refuses(48, 0, "the model's name has a zero byte in it");
    ByteBuffer swapped = ByteBuffer.wrap(HELLO.encoded());
    swapped.putInt(8, HELLO.encoded().length); // big-endian
    assertThatThrownBy(() -> ClientHello.length(swapped))
        .hasMessageEndingWith("in big-endian; numbers are little-endian");
  }

  private static void refuses(int at, int with, String why) {
    byte[] bytes = HELLO.encoded();
    bytes[at] = (byte) with;
    assertThatThrownBy(() -> ClientHello.read(ByteBuffer.wrap(bytes)))
        .isInstanceOf(MalformedStreamException.class)
        .hasMessageContaining(why);
  }

  /** Whatever the bytes are, they are read or refused, and nothing else is thrown. */
  @Test
  void shouldReadOrRefuseDamagedBytes() {
    long seed = System.nanoTime();
    SplittableRandom random = new SplittableRandom(seed);
    byte[][] sound = {HELLO.encoded(), REPLY.encoded()};
    int read = 0;
    for (int i = 0; i < DAMAGES; i++) {
      byte[] bytes = sound[i % 2].clone();
      for (int damage = random.nextInt(1, 4); damage > 0; damage--) {
        bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
      }
      if (random.nextInt(8) == 0) {
        bytes = Arrays.copyOf(bytes, random.nextInt(48, bytes.length + 1));
      }
      read += isRead(bytes, i % 2 == 0, seed) ? 1 : 0;
    }
    System.out.printf("HandshakeTest seed %d: %d of %d damaged are read%n", seed, read, DAMAGES);
    assertThat(read).isBetween(1, DAMAGES - 1);
  }

  private static boolean isRead(byte[] bytes, boolean hello, long seed) {
    ByteBuffer buffer = ByteBuffer.wrap(bytes);
    try {
      int length = hello ? ClientHello.length(buffer) : ServerReply.length(buffer);
      if (length > bytes.length) {
        return false; // more is waited for
      }
      if (hello) {
        ClientHello again = ClientHello.read(buffer);
        assertThat(ClientHello.read(ByteBuffer.wrap(again.encoded()))).isEqualTo(again);
      } else {
        ServerReply.read(buffer);
      }
      return true;
    } catch (MalformedStreamException e) {
      return false;
    } catch (RuntimeException e) {
      throw new AssertionError("seed " + seed, e);
    }
  }

  @Test
  void shouldWriteRecordsAsDocumented() throws Exception {
    ByteBuffer record = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN);
    RecordHeader.write(record, 0x0403_0201, 4, RecordKind.DRAINING, 0x0605);
    assertThat(record.array()).containsExactly(1, 2, 3, 4, 4, 3, 5, 6);
    assertThat(RecordHeader.read(record.flip()))
        .isEqualTo(new RecordHeader(0x0403_0201, 4, RecordKind.DRAINING, 0x0605));
    record.put(5, (byte) 9).rewind();
    assertThatThrownBy(() -> RecordHeader.read(record)).hasMessageContaining("kind 9");
  }

  @Test
  void shouldCutTextsBetweenCharacters() {
    byte[] text = RecordHeader.text("ü".repeat(600));
    assertThat(ByteBuffer.wrap(text).order(ByteOrder.LITTLE_ENDIAN).getInt()).isEqualTo(1024);
    assertThat(text).hasSize(1028);
    assertThat(RecordHeader.text("x" + "ü".repeat(600))).hasSize(4 + 1023);
  }
}
