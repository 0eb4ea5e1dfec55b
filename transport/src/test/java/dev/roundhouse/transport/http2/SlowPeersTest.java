package dev.roundhouse.transport.http2;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.ServerBuilder;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import java.io.IOException;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** Of calls that are answered here, which hold what has arrived and what is to be read. */
class SlowPeersTest extends SlowPeersContract {
  private static final int MAX_FRAME = 1 << 14;

  private static final int LONG_MILLIS = 60_000;
  private static final int CANCEL = 8;

  @Override
  protected ServerBuilder<?> serving(Http2ServerBuilder with, ServerServiceDefinition service) {
    return with.addService(service);
  }

  @Test
  void shouldHoldNoAnswerBeyondItsDeadline() throws Exception {
    allowedMillis = LONG_MILLIS;
    RawClient client = clientWithWindow(0);
    byte[] headers = RawClient.call("Wait", "grpc-timeout", "2S");
    client.quietly(RawClient.HEADERS, RawClient.END_HEADERS, 1, headers);
    client.frame(RawClient.DATA, RawClient.END_STREAM, 1, RawClient.message(1000));
    service.arrived.await();
    service.letGo();
    RawClient.Frame end = client.awaitEnd(1);
    assertThat(end.type()).isEqualTo(RawClient.RST_STREAM);
    assertThat(end.number(0)).isEqualTo(CANCEL);
    GrpcContract.await(() -> service.cancelled.get() == 1);
  }

  @Test
  void shouldCountWhatIsHeldOfAStreamThatFails() throws Exception {
    allowedMillis = LONG_MILLIS;
    RawClient client = clientWithWindow(0);
    client.quietly(RawClient.HEADERS, RawClient.END_HEADERS, 1, RawClient.call("Chat"));
    client.quietly(RawClient.DATA, 0, 1, RawClient.message(1000));
    client.call(3, "Fail", 0);
    assertThat(client.awaitEnd(3).status()).isEqualTo(Status.Code.ABORTED);
    client.frame(RawClient.DATA, 0, 1, new byte[] {2, 0, 0, 0, 0}); // no message begins so
    client.call(5, "Fail", 0);
    assertThat(client.awaitEnd(5).status()).isEqualTo(Status.Code.ABORTED);
    assertThat(service.cancelled).as("told while its answer is held").hasValue(0);
    client.frame(RawClient.WINDOW_UPDATE, 0, 1, RawClient.number(1 << 20));
    assertThat(client.awaitEnd(1).status()).isEqualTo(Status.Code.INTERNAL);
    GrpcContract.await(() -> service.cancelled.get() == 1);
  }

  @Test
  void shouldCountSmallMessagesThatMustWait() throws Exception {
    budget.limit = 16 << 16; // of which one address may have twelve parts
    RawClient client = client();
    byte[] announced = {0, 0, 1, 0, 0, 7}; // one byte of 65,536
    for (int i = 0; i < 12; i++) {
      begin(client, 2 * i + 1, announced);
    }
    begin(client, 25, announced);
    assertThat(client.awaitEnd(25).status()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    assertThat(budget.most.get()).isBetween(12L << 16, 14L << 16);
    assertThat(client.awaitEnd(1).status()).isEqualTo(Status.Code.DEADLINE_EXCEEDED);
  }

  @Test
  void shouldCountWholeMessagesOfRequestsThatDoNotEnd() throws Exception {
    budget.limit = 512 << 10; // of which one address may have six times 64 KiB
    RawClient client = client();
    for (int i = 0; i < 6; i++) {
      begin(client, 2 * i + 1, RawClient.message((64 << 10) - 256));
    }
    begin(client, 21, RawClient.message(2000));
    assertThat(client.awaitEnd(21).status()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    assertThat(client.awaitEnd(1).status()).isEqualTo(Status.Code.DEADLINE_EXCEEDED);
  }

  private static void begin(RawClient client, int stream, byte[] data) throws IOException {
    client.quietly(RawClient.HEADERS, RawClient.END_HEADERS, stream, RawClient.call("Echo"));
    for (int at = 0; at < data.length; at += MAX_FRAME) {
      byte[] part = Arrays.copyOfRange(data, at, Math.min(data.length, at + MAX_FRAME));
      client.frame(RawClient.DATA, 0, stream, part);
    }
  }
}
