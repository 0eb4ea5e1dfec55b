package dev.roundhouse.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.client.retry.RetryPolicy;
import dev.roundhouse.kserve.status.WireException;
import io.grpc.InsecureServerCredentials;
import io.grpc.Metadata;
import io.grpc.Status;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class RetryTest {
  private static final RetryPolicy QUICK =
      RetryPolicy.DEFAULT.withWaits(Duration.ofMillis(1), 2, Duration.ofMillis(4));
  private static final Status DOWN = Status.UNAVAILABLE.withDescription("down");

  private final FakeServer server;

  RetryTest() throws Exception {
    server = new FakeServer();
  }

  @AfterEach
  void close() {
    server.close();
  }

  private KServeClient client(RetryPolicy policy) {
    return KServeClient.to(server.address()).deadline(Duration.ofSeconds(30)).retry(policy).build();
  }

  @Test
  void shouldAskAgainWhileTheServerIsUnavailable() throws Exception {
    server.refuse(3, DOWN);
    try (KServeClient client = client(QUICK)) {
      InferResult result = client.infer(InferTest.doubling(4).build());
      assertThat(result.output("y").floats()).containsExactly(8);
      assertThat(result.stats().orElseThrow().attempts()).isEqualTo(4);
      assertThat(client.counters().attempts()).isEqualTo(4);
      long left = Long.MAX_VALUE;
      long told = Long.MAX_VALUE;
      for (int attempt = 0; attempt < 4; attempt++) {
        FakeServer.Arrival arrival = server.arrival();
        assertThat(arrival.leftNanos()).as("what is left goes along").isLessThan(left);
        left = arrival.leftNanos();
        long budget = arrival.request().getParametersOrThrow("reactant_timeout_ns").getInt64Param();
        assertThat(budget).isLessThan(told);
        told = budget;
      }
    }
  }

  @Test
  void shouldRetryFuturesToo() throws Exception {
    server.refuse(2, DOWN);
    try (KServeClient client = client(QUICK)) {
      InferResult result =
          client.inferAsync(InferTest.doubling(4).build()).get(30, TimeUnit.SECONDS);
      assertThat(result.stats().orElseThrow().attempts()).isEqualTo(3);
    }
  }

  @Test
  void shouldNotRetryWhatAskingAgainDoesNotMend() {
    try (KServeClient client = client(QUICK)) {
      for (Status status :
          new Status[] {
            Status.INVALID_ARGUMENT,
            Status.NOT_FOUND,
            Status.FAILED_PRECONDITION,
            Status.INTERNAL,
            Status.UNIMPLEMENTED,
            Status.DEADLINE_EXCEEDED,
            Status.RESOURCE_EXHAUSTED,
            Status.UNAUTHENTICATED
          }) {
        server.refuse(1, status);
        KServeException failure =
            catchThrowableOfType(
                KServeException.class, () -> client.infer(InferTest.doubling(1).build()));
        assertThat(failure.code()).isEqualTo(status.getCode());
        assertThat(server.arrivals).as("%s", status).hasSize(1);
        server.arrivals.clear();
      }
    }
  }

  @Test
  void shouldNotSendAgainWhatTheServerSaysIsInVain() {
    for (Metadata reason :
        List.of(
            FakeServer.reason(WireException.BEGAN, "true"),
            FakeServer.reason(WireException.ABOUT, "request"))) {
      server.arrivals.clear();
      server.refuse(1, DOWN, reason);
      try (KServeClient client = client(QUICK)) {
        assertThatThrownBy(() -> client.infer(InferTest.doubling(1).build()))
            .hasMessage("UNAVAILABLE: down");
        assertThat(server.arrivals).as("%s", reason).hasSize(1);
      }
    }
  }

  @Test
  void shouldRetryWhileTheServerLoadsTheModel() {
    server.refuse(1, DOWN, FakeServer.reason(WireException.ABOUT, "model"));
    try (KServeClient client = client(QUICK)) {
      client.infer(InferTest.doubling(1).build());
      assertThat(server.arrivals).hasSize(2);
    }
  }

  @Test
  void shouldRetryAFullServerWhenAskedTo() {
    server.refuse(1, Status.RESOURCE_EXHAUSTED);
    try (KServeClient client = client(QUICK.withResourceExhausted(true))) {
      client.infer(InferTest.doubling(1).build());
      assertThat(server.arrivals).hasSize(2);
    }
  }

  @Test
  void shouldSendAStepOfASequenceOnceUnlessAskedTo() {
    InferRequest step = InferTest.doubling(1).sequence("s", true, false).build();
    server.refuse(1, DOWN);
    try (KServeClient client = client(QUICK)) {
      assertThatThrownBy(() -> client.infer(step)).hasMessage("UNAVAILABLE: down");
      assertThat(server.arrivals).hasSize(1);
    }
    server.refuse(1, DOWN);
    try (KServeClient client = client(QUICK.withSequences(true))) {
      client.infer(step);
      assertThat(server.arrivals).hasSize(3);
    }
  }

  @Test
  void shouldGiveUpWhenAttemptsOrTimeRunOut() {
    server.refuse(100, DOWN);
    try (KServeClient client = client(QUICK.withMaxAttempts(3))) {
      assertThatThrownBy(() -> client.infer(InferTest.doubling(1).build()))
          .hasMessageContaining("UNAVAILABLE: down")
          .hasMessageContaining("3 attempts were made");
      assertThat(server.arrivals).hasSize(3);
    }
    server.arrivals.clear();
    RetryPolicy slow = RetryPolicy.DEFAULT.withWaits(Duration.ofHours(1), 1, Duration.ofHours(1));
    try (KServeClient client = client(slow)) {
      // No draw of an hour fits into the deadline but one in 360.
      long begin = System.nanoTime();
      assertThatThrownBy(
              () -> client.infer(InferTest.doubling(1).deadline(Duration.ofSeconds(10)).build()))
          .hasMessageContaining("UNAVAILABLE");
      assertThat(System.nanoTime() - begin).isLessThan(TimeUnit.SECONDS.toNanos(31));
    }
  }

  @Test
  void shouldNotStormAServerThatIsDown() {
    server.refuse(10_000, DOWN);
    try (KServeClient client = client(QUICK.withBudget(0.1, 5))) {
      for (int call = 0; call < 100; call++) {
        assertThatThrownBy(() -> client.infer(InferTest.doubling(1).build()))
            .hasMessageContaining("UNAVAILABLE");
      }
      ClientCounters counters = client.counters();
      assertThat(counters.calls()).isEqualTo(100);
      assertThat(counters.attempts() - counters.calls()).isBetween(5L, 15L);
      assertThat(counters.retriesWithoutBudget()).isPositive();
      assertThat((long) server.arrivals.size()).isEqualTo(counters.attempts());
    }
  }

  @Test
  void shouldNotAskAgainForACallThatWasCancelledWhileItWaited() throws Exception {
    server.refuse(1, DOWN);
    RetryPolicy slow = RetryPolicy.DEFAULT.withWaits(Duration.ofHours(1), 1, Duration.ofHours(1));
    try (KServeClient client =
        KServeClient.to(server.address()).withoutDeadline().retry(slow).build()) {
      CompletableFuture<InferResult> call = client.inferAsync(InferTest.doubling(1).build());
      server.arrival();
      call.cancel(true);
      InferTest.await("it has ended", () -> client.counters().failed() == 1);
      assertThat(server.arrivals).isEmpty();
    }
  }

  @Test
  void shouldReachAServerThatComesBack() throws Exception {
    int port = server.port();
    RetryPolicy patient =
        RetryPolicy.DEFAULT
            .withMaxAttempts(1000)
            .withBudget(1, 1000)
            .withWaits(Duration.ofMillis(20), 1, Duration.ofMillis(20));
    try (KServeClient client = client(patient)) {
      client.infer(InferTest.doubling(1).build());
      server.close();
      CompletableFuture<InferResult> call = client.inferAsync(InferTest.doubling(3).build());
      InferTest.await("it has tried", () -> client.counters().attempts() > 3);
      try (FakeServer again = new FakeServer(InsecureServerCredentials.create(), port)) {
        assertThat(call.get(30, TimeUnit.SECONDS).output("y").floats()).containsExactly(6);
        assertThat(again.arrivals).hasSize(1);
      }
    }
  }

  @Test
  void shouldAskAnotherServerWhenOneIsDown() throws Exception {
    try (FakeServer other = new FakeServer();
        KServeClient client =
            KServeClient.to(server.address(), other.address()).retry(QUICK).build()) {
      for (int call = 0; call < 20; call++) {
        client.infer(InferTest.doubling(1).build());
      }
      assertThat(server.arrivals).as("both are asked in turn").hasSize(10);
      server.close();
      for (int call = 0; call < 20; call++) {
        client.infer(InferTest.doubling(1).build());
      }
      assertThat(other.arrivals).hasSize(30);
    }
  }

  @Test
  void shouldSendASequenceToOneServer() throws Exception {
    try (FakeServer other = new FakeServer();
        KServeClient client = KServeClient.to(server.address(), other.address()).build()) {
      for (int step = 0; step < 10; step++) {
        client.infer(InferTest.doubling(1).sequence(7, step == 0, step == 9).build());
      }
      assertThat(server.arrivals.size() + other.arrivals.size()).isEqualTo(10);
      assertThat(server.arrivals.size()).isIn(0, 10);
    }
  }
}
