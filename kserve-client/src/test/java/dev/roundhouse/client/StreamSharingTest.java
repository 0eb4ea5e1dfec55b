package dev.roundhouse.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.client.StreamAnswer.Answered;
import dev.roundhouse.client.StreamAnswer.Failed;
import dev.roundhouse.client.tensor.Tensor;
import io.grpc.Status;
import java.io.IOException;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Streams whose tensors are passed in shared memory. */
class StreamSharingTest extends Sharing {
  private static final long BOTH_WAYS = 2L * 8 * ROWS;

  StreamSharingTest() throws IOException {}

  private static InferRequest request(int first, int rows) {
    return pairs(first, rows).id("" + first).build();
  }

  private static void assertAnswered(InferStream stream, int first, int rows) throws Exception {
    StreamAnswer answer = stream.next().orElseThrow();
    assertThat(answer).isInstanceOf(Answered.class);
    assertThat(answer.id()).isEqualTo("" + first);
    assertDoubled(((Answered) answer).result(), first, rows);
  }

  @Test
  void shouldPassTensorsBothWaysAndAnswerInOrder() throws Exception {
    try (KServeClient client = client(ON);
        InferStream stream = client.stream()) {
      for (int i = 0; i < 40; i++) {
        stream.send(request(i, i % 2 == 0 ? ROWS : 1));
        if (i % 4 == 3) {
          for (int j = i - 3; j <= i; j++) {
            assertAnswered(stream, j, j % 2 == 0 ? ROWS : 1);
          }
        }
      }
      stream.halfClose();
      assertThat(stream.next()).isEmpty();
      assertThat(client.counters().sharedBytes()).isEqualTo(20 * BOTH_WAYS);
      assertThat(client.counters().registrations()).isEqualTo(1);
    }
  }

  @Test
  void shouldSendWhenNoSlotIsFreeAndItMay() throws Exception {
    try (KServeClient client = client(AUTO);
        InferStream stream = client.stream()) {
      int many = 12; // of a region for four of them, and nobody takes an answer meanwhile
      for (int i = 0; i < many; i++) {
        stream.send(request(i, ROWS));
      }
      for (int i = 0; i < many; i++) {
        assertAnswered(stream, i, ROWS);
      }
      assertThat(client.counters().sharedBytes()).isPositive().isLessThan(many * BOTH_WAYS);
      for (int i = 0; i < 2; i++) {
        stream.send(request(i, ROWS)); // slots have been given back
        assertAnswered(stream, i, ROWS);
      }
    }
  }

  @Test
  void shouldNotWaitLongerThanItMayForSlots() throws Exception {
    try (KServeClient client = client(ON);
        InferStream stream = client.stream()) {
      int sent = 0;
      while (stream.send(request(sent, ROWS), Duration.ofMillis(200))) {
        sent++;
        assertThat(sent).as("requests in a region for four").isLessThan(9);
      }
      assertThat(sent).isPositive();
      for (int i = 0; i < sent; i++) {
        assertAnswered(stream, i, ROWS);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldRegisterAgainWhatTheServerHasLostAndKeepTheOrder(boolean givesReasons)
      throws Exception {
    server.givesReasons = givesReasons;
    for (SharedMemory memory : new SharedMemory[] {AUTO, ON}) {
      try (KServeClient client = client(memory);
          InferStream stream = client.stream()) {
        stream.send(request(0, ROWS));
        assertAnswered(stream, 0, ROWS);
        server.lose();
        stream.send(request(1, ROWS));
        stream.send(request(2, 1));
        stream.send(request(3, 1));
        stream.halfClose(); // which waits: the first is sent again
        assertAnswered(stream, 1, ROWS);
        assertAnswered(stream, 2, 1);
        assertAnswered(stream, 3, 1);
        assertThat(stream.next()).isEmpty();
        assertThat(client.counters().sharedBytes()).isEqualTo(2 * BOTH_WAYS);
        assertThat(client.counters().registrations()).isEqualTo(2);
      }
    }
  }

  @Test
  void shouldSendOutOfTheSlotsWhenTheServerKeepsLosingTheRegion() throws Exception {
    server.forgetful = true;
    try (KServeClient client = client(AUTO);
        InferStream stream = client.stream()) {
      float[] values = new float[2 * ROWS];
      Tensor reused = Tensor.of(values, ROWS, 2);
      stream.send(InferRequest.to("pair").input("x", reused).id("a").build());
      values[0] = 7; // the caller's again
      stream.halfClose();
      StreamAnswer answer = stream.next().orElseThrow();
      assertThat(((Answered) answer).result().output("y").floats()).containsOnly(0f);
      assertThat(stream.next()).isEmpty();
    }
  }

  @Test
  void shouldHaveAnOutputSentThatTurnsOutLarger() throws Exception {
    server.growth = 1;
    for (SharedMemory memory : new SharedMemory[] {AUTO, ON}) {
      try (KServeClient client = client(memory);
          InferStream stream = client.stream()) {
        stream.send(request(1, ROWS));
        assertAnswered(stream, 1, ROWS);
        assertThat(client.counters().sharedBytes()).as("its input").isEqualTo(BOTH_WAYS / 2);
      }
    }
  }

  @Test
  void shouldTellWhatCannotBeSharedAndMust() throws Exception {
    server.forgetful = true;
    try (KServeClient client = client(ON);
        InferStream stream = client.stream()) {
      stream.send(request(1, ROWS));
      stream.send(request(2, 1));
      StreamAnswer first = stream.next().orElseThrow();
      assertThat(first)
          .isInstanceOfSatisfying(
              Failed.class,
              failed ->
                  assertThat(failed.message()).contains("Unable to find shared memory region"));
      assertThat(first.id()).isEqualTo("1");
      assertAnswered(stream, 2, 1);
    }
  }

  @Test
  void shouldShareNothingWithModelsThatAnswerOften() throws Exception {
    server.decoupled = true;
    try (KServeClient client = client(AUTO);
        InferStream stream = client.stream()) {
      stream.send(request(1, ROWS));
      assertAnswered(stream, 1, ROWS);
      assertThat(client.counters().sharedBytes()).isZero();
    }
    try (KServeClient client = client(ON);
        InferStream stream = client.stream()) {
      KServeException refusal =
          catchThrowableOfType(KServeException.class, () -> stream.send(request(1, ROWS)));
      assertThat(refusal.code()).isEqualTo(Status.Code.FAILED_PRECONDITION);
      assertThat(refusal).hasMessageContaining("'pair', which may answer a request many times");
      stream.send(request(2, 1)); // too small to be shared
      assertAnswered(stream, 2, 1);
    }
  }

  @Test
  void shouldGiveSlotsBackThatNobodyTakesTheAnswersOf() throws Exception {
    try (KServeClient client = client(ON)) {
      for (int i = 0; i < 6; i++) {
        InferStream stream = client.stream();
        stream.send(request(0, ROWS));
        stream.send(request(1, ROWS));
        assertAnswered(stream, 0, ROWS);
        stream.halfClose();
        InferTest.await("the stream has ended", stream::hasEnded);
        stream.close();
      }
      assertThat(client.infer(request(9, ROWS)).output("y").floats()[0]).isEqualTo(18f);
      assertThat(client.counters().registrations()).as("of one region").isEqualTo(1);
    }
  }

  @Test
  void shouldFailWithoutMemoryThatMustBeShared() throws Exception {
    server.same = false;
    try (KServeClient client = client(ON);
        InferStream stream = client.stream()) {
      KServeException refusal =
          catchThrowableOfType(KServeException.class, () -> stream.send(request(1, ROWS)));
      assertThat(refusal.code()).isEqualTo(Status.Code.FAILED_PRECONDITION);
    }
    try (KServeClient client = client(AUTO);
        InferStream stream = client.stream()) {
      stream.send(request(1, ROWS));
      assertAnswered(stream, 1, ROWS);
    }
  }
}
