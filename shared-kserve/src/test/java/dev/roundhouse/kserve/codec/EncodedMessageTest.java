package dev.roundhouse.kserve.codec;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class EncodedMessageTest {
  private static final int LARGE = 1 << 15;
  private static final EncodedMessage.Lender LENDER =
      new EncodedMessage.Lender() {
        @Override
        public void lend() {}

        @Override
        public void returned() {}
      };

  @Test
  void shouldWriteItsOwnBytesAndPayloadsInOrder() throws IOException {
    ByteBuffer inArray = ByteBuffer.wrap("..middle..".getBytes(StandardCharsets.US_ASCII), 2, 6);
    ByteBuffer direct = direct(40_000);
    EncodedMessage message =
        message(
            "headtail", new int[] {4, 4, 8}, inArray.slice(), direct, ByteBuffer.allocateDirect(0));
    ByteArrayOutputStream expected = new ByteArrayOutputStream();
    expected.writeBytes("headmiddle".getBytes(StandardCharsets.US_ASCII));
    byte[] large = new byte[direct.remaining()];
    direct.duplicate().get(large);
    expected.writeBytes(large);
    expected.writeBytes("tail".getBytes(StandardCharsets.US_ASCII));

    ByteArrayOutputStream out = new ByteArrayOutputStream();
    message.writeTo(out);

    assertThat(out.toByteArray()).isEqualTo(expected.toByteArray());
    assertThat(direct.remaining()).as("it can be written again").isEqualTo(40_000);
  }

  @Test
  void shouldHandOverNothingThatIsEmptyAtTheEnd() {
    EncodedMessage message = message("head", new int[] {4}, direct(3));
    List<Integer> lengths = new ArrayList<>();
    message.writeTo(
        new EncodedMessage.Target<RuntimeException>() {
          @Override
          public void bytes(byte[] from, int offset, int length) {
            lengths.add(length);
          }

          @Override
          public void payload(ByteBuffer data) {
            lengths.add(-data.remaining());
          }
        });
    assertThat(lengths).containsExactly(4, -3);
  }

  @Test
  void shouldLendLargePayloadsOutsideTheHeap() {
    ByteBuffer large = direct(LARGE);
    ByteBuffer larger = direct(LARGE + 5);
    ByteBuffer small = direct(LARGE - 1);
    ByteBuffer onHeap = ByteBuffer.allocate(LARGE);
    EncodedMessage message = message("", new int[] {0, 0, 0, 0}, large, larger, small, onHeap);
    assertThat(message.lender(large)).isNull();
    assertThat(message.lentBytes()).isZero();

    EncodedMessage lent = message.lentBy(LENDER);

    assertThat(lent.lender(large)).isSameAs(LENDER);
    assertThat(lent.lender(small)).isNull();
    assertThat(lent.lender(onHeap)).isNull();
    assertThat(lent.lentBytes()).isEqualTo(2 * LARGE + 5);
  }

  private static ByteBuffer direct(int size) {
    ByteBuffer data = ByteBuffer.allocateDirect(size);
    for (int i = 0; i < size; i++) {
      data.put(i, (byte) (i * 7 + i / 256));
    }
    return data;
  }

  private static EncodedMessage message(String own, int[] places, ByteBuffer... payloads) {
    int size = own.length() + Arrays.stream(payloads).mapToInt(ByteBuffer::remaining).sum();
    List<ResponseTensor> tensors =
        Arrays.stream(payloads)
            .map(
                data ->
                    new ResponseTensor("x", DType.U8, Shape.of(data.remaining()), Map.of(), data))
            .toList();
    return new EncodedMessage(own.getBytes(StandardCharsets.US_ASCII), places, tensors, size);
  }
}
