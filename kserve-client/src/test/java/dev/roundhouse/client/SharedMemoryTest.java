package dev.roundhouse.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.client.tensor.Tensor;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import io.grpc.Status;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls whose tensors are passed in shared memory. */
class SharedMemoryTest extends Sharing {
  SharedMemoryTest() throws IOException {}

  private static InferRequest.Builder pairs(int first) {
    return pairs(first, ROWS);
  }

  private static void assertDoubled(InferResult result, int first) {
    assertDoubled(result, first, ROWS);
  }

  private static long shared(InferResult result) {
    return result.stats().orElseThrow().sharedBytes();
  }

  @Test
  void shouldPassTensorsBothWays() throws Exception {
    try (KServeClient client = client(ON)) {
      for (int i = 0; i < 20; i++) {
        InferResult result = client.infer(pairs(i).id("i").build());
        assertDoubled(result, i);
        assertThat(result.id()).isEqualTo("i");
        assertThat(shared(result)).isEqualTo(2 * 8 * ROWS);
        assertThat(result.stats().orElseThrow().bytesSent()).isLessThan(2000);
      }
      assertThat(server.arrival().request().getRawInputContentsCount()).isZero();
      assertThat(server.asked).hasValue(1);
      assertThat(server.keys).hasSize(1).first().asString().startsWith("/shm-test-");
      assertThat(client.counters().sharedBytes()).isEqualTo(20L * 2 * 8 * ROWS);
      assertThat(client.counters().registrations()).isEqualTo(1);
    }
    assertThat(server.unregistered).hasSize(1);
  }

  @Test
  void shouldCopyAnswersBeforeTheirSlotIsUsedAgain() throws Exception {
    try (KServeClient client = client(ON)) {
      InferResult first = client.infer(pairs(1).build());
      for (int i = 0; i < 20; i++) {
        client.infer(pairs(100 + i).build());
      }
      assertDoubled(first, 1);
    }
  }

  @Test
  void shouldServeManyAtOnceFromAFewSlots() throws Exception {
    for (SharedMemory memory : List.of(ON, AUTO)) {
      try (KServeClient client = client(memory)) {
        List<CompletableFuture<InferResult>> calls = new ArrayList<>();
        for (int i = 0; i < 64; i++) {
          calls.add(client.inferAsync(pairs(i).build()));
        }
        long throughMemory = 0;
        for (int i = 0; i < calls.size(); i++) {
          InferResult result = calls.get(i).get(30, TimeUnit.SECONDS);
          assertDoubled(result, i);
          throughMemory += shared(result) > 0 ? 1 : 0;
        }
        if (memory == ON) {
          assertThat(throughMemory).isEqualTo(calls.size());
        }
      }
    }
  }

  @Test
  void shouldSendWhenNoSlotIsFreeAndItMay() throws Exception {
    try (KServeClient client = client(AUTO)) {
      client.infer(pairs(0).build());
      server.hold.set(true);
      server.arrivals.clear();
      List<CompletableFuture<InferResult>> calls = new ArrayList<>();
      for (int i = 0; i < 5; i++) { // two slots each, of eight
        calls.add(client.inferAsync(pairs(i).build()));
        server.arrival();
      }
      server.release();
      for (int i = 0; i < calls.size(); i++) {
        InferResult result = calls.get(i).get(30, TimeUnit.SECONDS);
        assertDoubled(result, i);
        assertThat(shared(result)).isEqualTo(i < 4 ? 2 * 8 * ROWS : 0);
      }
    }
  }

  @Test
  void shouldSendSmallTensors() throws Exception {
    try (KServeClient client = client(ON)) {
      InferResult result = client.infer(InferTest.doubling(1, 2).build());
      assertThat(result.output("y").floats()).containsExactly(2, 4);
      assertThat(shared(result)).isZero();
      assertThat(server.asked).hasValue(0);
    }
  }

  @Test
  void shouldHaveOutputsSentWhoseSizeNobodyKnows() throws Exception {
    try (KServeClient client = client(ON)) {
      float[] values = new float[8192];
      values[8191] = 3;
      InferResult result = client.infer(InferTest.doubling(values).build());
      assertThat(result.output("y").floats()[8191]).isEqualTo(6);
      assertThat(shared(result)).as("the input alone").isEqualTo(4 * 8192);
    }
  }

  @Test
  void shouldReadAnswersOfServersThatCountOnlyWhatTheySend() throws Exception {
    server.sparse = true;
    try (KServeClient client = client(ON)) {
      assertDoubled(client.infer(pairs(5).build()), 5);
    }
  }

  @Test
  void shouldReadAnswersOfServersThatDoNotSayWhereTheyAre() throws Exception {
    server.says = false;
    try (KServeClient client = client(ON)) {
      assertDoubled(client.infer(pairs(5).build()), 5);
    }
  }

  @Test
  void shouldSendWhenTheServerSharesNothingAndAskOnce() throws Exception {
    server.same = false;
    try (KServeClient client = client(AUTO)) {
      for (int i = 0; i < 5; i++) {
        InferResult result = client.infer(pairs(i).build());
        assertDoubled(result, i);
        assertThat(shared(result)).isZero();
      }
      assertThat(server.asked).hasValue(1);
      assertThat(server.keys).isEmpty();
    }
  }

  @Test
  void shouldSendWhenTheServerRegistersNothing() throws Exception {
    for (Boolean same : new Boolean[] {true, null}) {
      server.same = same;
      server.refusal = Status.UNIMPLEMENTED.withDescription("disabled");
      try (KServeClient client = client(AUTO)) {
        for (int i = 0; i < 3; i++) {
          assertThat(shared(client.infer(pairs(i).build()))).isZero();
        }
      }
    }
    assertThat(server.asked).as("once each").hasValue(2);
  }

  @Test
  void shouldShareWithAServerThatDoesNotKnowTheQuestion() throws Exception {
    server.same = null;
    try (KServeClient client = client(AUTO)) {
      assertThat(shared(client.infer(pairs(1).build()))).isPositive();
    }
  }

  @Test
  void shouldFailWhenItMustShareAndCannot() throws Exception {
    server.same = false;
    try (KServeClient client = client(ON)) {
      assertThatThrownBy(() -> client.infer(pairs(1).build()))
          .hasMessage(
              "FAILED_PRECONDITION: shared memory is on and cannot be used: the server does not see the /dev/shm of this process");
    }
    server.same = true;
    server.refusal = Status.UNIMPLEMENTED.withDescription("disabled");
    try (KServeClient client = client(ON)) {
      assertThatThrownBy(() -> client.infer(pairs(1).build()))
          .hasMessageContaining("the server refused to register it: disabled");
      assertThatThrownBy(() -> client.inferAsync(pairs(1).build()).get(30, TimeUnit.SECONDS))
          .hasMessageContaining("FAILED_PRECONDITION");
    }
    assertThat(server.arrivals).isEmpty();
    try (KServeClient client = client(ON.withRegion(1L << 50, 8))) {
      server.refusal = null;
      assertThatThrownBy(() -> client.infer(pairs(1).build()))
          .hasMessageContaining("/dev/shm has ")
          .hasMessageContaining("a region of 1125899906842624 was wanted");
    }
    try (KServeClient client = client(ON.withRegion(8192, 2))) {
      assertThatThrownBy(() -> client.infer(pairs(1).build()))
          .hasMessageContaining("RESOURCE_EXHAUSTED")
          .hasMessageContaining("the region has 8192");
    }
    assertThatThrownBy(() -> KServeClient.to("a:1", "b:1").sharedMemory(SharedMemory.ON).build())
        .hasMessageContaining("2 servers are named");
  }

  @Test
  void shouldNeverAskWhenItIsOff() throws Exception {
    try (KServeClient client = client(SharedMemory.OFF)) {
      assertThat(shared(client.infer(pairs(1).build()))).isZero();
      assertThat(server.asked).hasValue(0);
    }
  }

  @Test
  void shouldAskAgainWhenTheServerWasNotThere() throws Exception {
    server.refuse(1, Status.UNAVAILABLE.withDescription("starting"));
    try (KServeClient client = client(AUTO)) {
      assertThat(shared(client.infer(pairs(1).build()))).isZero();
      InferTest.await("it asks again", () -> shared(client.infer(pairs(1).build())) > 0);
      assertThat(server.asked).hasValue(2);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldRegisterAgainWhenTheServerWasRestarted(boolean givesReasons) throws Exception {
    server.givesReasons = givesReasons;
    for (SharedMemory memory : List.of(ON, AUTO)) {
      server.keys.clear();
      try (KServeClient client = client(memory)) {
        client.infer(pairs(0).build());
        server.lose();
        InferResult result = client.infer(pairs(7).build());
        assertDoubled(result, 7);
        assertThat(shared(result)).isPositive();
        assertThat(server.keys).hasSize(2);
        assertThat(server.keys.get(1)).as("the same object").isEqualTo(server.keys.get(0));
        assertThat(client.counters().registrations()).isEqualTo(2);
      }
    }
  }

  @Test
  void shouldRegisterAgainOnceForAllCallsThatFindOut() throws Exception {
    try (KServeClient client = client(ON)) {
      client.infer(pairs(0).build());
      server.hold.set(true);
      server.arrivals.clear();
      List<CompletableFuture<InferResult>> calls = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        calls.add(client.inferAsync(pairs(i).build()));
        server.arrival();
      }
      server.lose();
      server.release();
      for (int i = 0; i < calls.size(); i++) {
        assertDoubled(calls.get(i).get(30, TimeUnit.SECONDS), i);
      }
      assertThat(client.counters().registrations()).isEqualTo(2);
    }
  }

  @Test
  void shouldSendWhenTheServerKeepsLosingItsRegions() throws Exception {
    server.forgetful = true;
    try (KServeClient client = client(AUTO)) {
      for (int i = 0; i < 3; i++) {
        InferResult result = client.infer(pairs(i).build());
        assertDoubled(result, i);
        assertThat(shared(result)).isZero();
      }
      assertThat(client.counters().registrations()).as("and once again").isEqualTo(2);
    }
    try (KServeClient client = client(ON)) {
      assertThatThrownBy(() -> client.infer(pairs(1).build()))
          .hasMessageContaining("Unable to find shared memory region");
    }
  }

  @Test
  void shouldHaveAnOutputSentThatTurnsOutLarger() throws Exception {
    server.growth = 1;
    try (KServeClient client = client(ON)) {
      InferResult result = client.infer(pairs(3).build());
      assertDoubled(result, 3);
      assertThat(shared(result)).as("the input alone").isEqualTo(8 * ROWS);
    }
  }

  @Test
  void shouldNotUseSlotsAgainThatTheServerMayStillWriteTo() throws Exception {
    try (KServeClient client = client(ON)) {
      client.infer(pairs(0).build());
      server.arrivals.clear();
      server.hold.set(true);
      for (int i = 0; i < 2; i++) { // two slots each: half of eight
        CompletableFuture<InferResult> given = client.inferAsync(pairs(1).build());
        server.arrival();
        given.cancel(true);
      }
      Path old = Path.of("/dev/shm" + server.keys.getFirst());
      InferTest.await("the old region is unregistered", () -> server.unregistered.size() == 1);
      assertThat(old).doesNotExist();
      server.hold.set(false);
      assertDoubled(client.infer(pairs(9).build()), 9);
      assertThat(server.keys).hasSize(2).doesNotHaveDuplicates();
      server.release(); // writes to the old one, which nobody reads
      assertDoubled(client.infer(pairs(11).build()), 11);
    }
  }

  @Test
  void shouldBeClosedWhileCallsShareItsMemory() throws Exception {
    KServeClient client = client(ON);
    client.infer(pairs(0).build());
    server.arrivals.clear();
    server.hold.set(true);
    List<CompletableFuture<InferResult>> calls = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      calls.add(client.inferAsync(pairs(i).build()));
      server.arrival();
    }
    client.close();
    client.close();
    assertThat(Path.of("/dev/shm" + server.keys.getFirst())).doesNotExist();
    for (CompletableFuture<InferResult> call : calls) {
      assertThatThrownBy(() -> call.get(30, TimeUnit.SECONDS))
          .hasCauseInstanceOf(KServeException.class);
    }
    assertThatThrownBy(() -> client.infer(pairs(0).build())).hasMessageContaining("was closed");
  }

  @Test
  void shouldUseSlotsAgainOfCallsThatTheServerRefused() throws Exception {
    try (KServeClient client = client(ON)) {
      client.infer(pairs(0).build());
      for (int i = 0; i < 20; i++) {
        server.refuse(1, Status.INVALID_ARGUMENT.withDescription("not today"));
        assertThatThrownBy(() -> client.infer(pairs(0).build())).hasMessageContaining("not today");
      }
      assertDoubled(client.infer(pairs(2).build()), 2);
      assertThat(server.keys).hasSize(1);
    }
  }

  @Test
  void shouldPassDataSetsThroughSharedMemory() throws Exception {
    try (KServeClient client = client(ON)) {
      float[] values = new float[2 * 3 * ROWS];
      for (int i = 0; i < values.length; i++) {
        values[i] = i;
      }
      DatasetResult result =
          client.infer(
              Dataset.of(client.shape("pair"))
                  .input(
                      "x",
                      3L * ROWS,
                      Shape.of(2),
                      (first, rows, target) -> {
                        for (long i = 0; i < 2 * rows; i++) {
                          target.setAtIndex(ValueLayout.JAVA_FLOAT, i, 2 * first + i);
                        }
                      })
                  .chunkRows(ROWS)
                  .window(3));
      float[] doubled = result.complete().output("y").floats();
      for (int i = 0; i < values.length; i++) {
        assertThat(doubled[i]).isEqualTo(2 * values[i]);
      }
      assertThat(client.counters().sharedBytes()).isEqualTo(2L * 3 * 8 * ROWS);
      for (FakeServer.Arrival arrival : server.arrivals) {
        ModelInferRequest request = arrival.request();
        assertThat(request.getRawInputContentsCount()).isZero();
      }
    }
  }

  @Test
  void shouldShareOutputsOfModelsWhoseAnswersAreLarge() throws Exception {
    try (KServeClient client = client(ON)) {
      InferRequest small =
          InferRequest.to("widen").input("x", Tensor.of(new float[] {3}, 1, 1)).build();
      for (int call = 0; call < 2; call++) {
        InferResult result = client.infer(small);
        float[] values = result.output("y").floats();
        assertThat(values).hasSize(FakeServer.WIDTH).containsOnly(3);
        // What an answer is like is known once there was one.
        assertThat(shared(result)).isEqualTo(call == 0 ? 0 : 4L * FakeServer.WIDTH);
      }
    }
  }

  @Test
  void shouldStayBelowItsThreshold() throws Exception {
    try (KServeClient client = client(ON.withLeastBytes(8 * ROWS + 1))) {
      assertThat(shared(client.infer(pairs(1).build()))).isZero();
    }
    try (KServeClient client = client(ON.withLeastBytes(8 * ROWS))) {
      assertThat(shared(client.infer(pairs(1).build()))).isEqualTo(2 * 8 * ROWS);
    }
  }

  @Test
  void shouldRefuseSettingsThatMakeNoSense() {
    assertThatThrownBy(() -> SharedMemory.AUTO.withRegion(1 << 20, 1))
        .hasMessageContaining("slots");
    assertThatThrownBy(() -> SharedMemory.AUTO.withRegion(1000, 2)).hasMessageContaining("1000");
    assertThatThrownBy(() -> SharedMemory.AUTO.withName("a/b"))
        .hasMessageContaining("'a/b' cannot be part");
  }
}
