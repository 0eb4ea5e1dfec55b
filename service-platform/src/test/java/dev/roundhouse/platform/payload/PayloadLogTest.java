package dev.roundhouse.platform.payload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.platform.payload.PayloadCollector.Received;
import dev.roundhouse.platform.payload.PayloadEvent.Type;
import dev.roundhouse.platform.payload.PayloadLog.Drop;
import dev.roundhouse.platform.payload.PayloadLogProperties.Mode;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.ssl.DefaultSslBundleRegistry;
import org.springframework.util.unit.DataSize;

@Timeout(60)
class PayloadLogTest {
  private static final Instant NOW = Instant.parse("2026-01-02T03:04:05Z");

  private PayloadCollector collector;

  @BeforeEach
  void start() throws Exception {
    collector = new PayloadCollector();
  }

  @AfterEach
  void stop() {
    collector.close();
  }

  private PayloadLog log(String url, DataSize waiting, Duration timeout, int attempts) {
    return Objects.requireNonNull(
        PayloadLog.of(
            properties(url, waiting, timeout, attempts, ""),
            "test.payload-log",
            "roundhouse-test",
            new DefaultSslBundleRegistry()));
  }

  private PayloadLog log() {
    return log(collector.url(), DataSize.ofMegabytes(1), Duration.ofSeconds(10), 2);
  }

  private static PayloadLogProperties properties(
      String url, DataSize waiting, Duration timeout, int attempts, String bundle) {
    return new PayloadLogProperties(
        url,
        Mode.ALL,
        List.of("a*", "b"),
        1,
        "",
        "iris",
        "ml",
        "",
        "déf \"x\"",
        DataSize.ofKilobytes(1),
        waiting,
        timeout,
        attempts,
        1,
        bundle);
  }

  private static PayloadEvent event(String id) {
    return new PayloadEvent(
        Type.REQUEST, id, NOW, new PayloadBody.AsIs(Map.of("content-type", "text/x"), new byte[9]));
  }

  private static void await(BooleanSupplier condition) {
    long end = System.nanoTime() + 30_000_000_000L;
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime()).as("in time").isLessThan(end);
      Thread.onSpinWait();
    }
  }

  @Test
  void shouldSendADocumentWithTheAttributesInHeaders() throws Exception {
    byte[] floats = new byte[8];
    floats[3] = 0x40;
    floats[2] = 0x20; // 2.5
    byte[] text = "\3\0\0\0abc\1\0\0\0".getBytes(StandardCharsets.ISO_8859_1);
    byte[] texts = java.util.Arrays.copyOf(text, text.length + 1);
    texts[text.length] = 'd';
    try (PayloadLog log = log()) {
      log.offer(
          new PayloadEvent(
              Type.RESPONSE,
              "an id/é",
              NOW,
              new PayloadBody.Document(
                  "an id/é",
                  "m",
                  "7",
                  false,
                  List.of(
                      new PayloadTensor("y", DType.F32, Shape.of(1, 2), floats),
                      new PayloadTensor("t", DType.BYTES, Shape.of(2), texts),
                      new PayloadTensor("h", DType.F16, Shape.of(1), new byte[2]),
                      new PayloadTensor("big", DType.I64, Shape.of(9999), null)))));
      Received event = collector.next();
      assertThat(event.body())
          .isEqualTo(
              "{\"id\":\"an id/é\",\"model_name\":\"m\",\"model_version\":\"7\","
                  + "\"parameters\":{\"roundhouse_left_out\":\"h,big\"},\"outputs\":["
                  + "{\"name\":\"y\",\"datatype\":\"FP32\",\"shape\":[1,2],\"data\":[2.5,0.0]},"
                  + "{\"name\":\"t\",\"datatype\":\"BYTES\",\"shape\":[2],\"data\":[\"abc\",\"d\"]},"
                  + "{\"name\":\"h\",\"datatype\":\"FP16\",\"shape\":[1]},"
                  + "{\"name\":\"big\",\"datatype\":\"INT64\",\"shape\":[9999]}]}");
      assertThat(event.header("ce-specversion")).isEqualTo("1.0");
      assertThat(event.header("ce-type")).isEqualTo("org.kubeflow.serving.inference.response");
      assertThat(event.header("ce-id")).isEqualTo("an%20id/%C3%A9");
      assertThat(event.header("ce-source")).isEqualTo("roundhouse-test");
      assertThat(event.header("ce-time")).isEqualTo("2026-01-02T03:04:05Z");
      assertThat(event.header("ce-inferenceservicename")).isEqualTo("iris");
      assertThat(event.header("ce-namespace")).isEqualTo("ml");
      assertThat(event.header("ce-endpoint")).isEqualTo("d%C3%A9f%20%22x%22");
      assertThat(event.headers()).doesNotContainKey("ce-component");
      assertThat(event.header("content-type")).isEqualTo("application/json");
      await(() -> log.sent() == 1 && log.waitingBytes() == 0);
    }
  }

  @Test
  void shouldChooseByNameAndSample() {
    try (PayloadLog log = log()) {
      assertThat(log.takes("abc")).isTrue();
      assertThat(log.takes("b")).isTrue();
      assertThat(log.takes("bc")).isFalse();
    }
  }

  @Test
  void shouldTryAgainWhereThatMayHelpAndNotElsewhere() throws Exception {
    try (PayloadLog log = log()) {
      collector.answer(503);
      log.offer(event("1"));
      assertThat(collector.next().header("ce-id")).isEqualTo("1");
      collector.answer(429, 500);
      log.offer(event("2"));
      await(() -> log.dropped(Drop.UNREACHED) == 1);
      collector.answer(400);
      log.offer(event("3"));
      await(() -> log.dropped(Drop.REFUSED) == 1);
      log.offer(event("4"));
      assertThat(collector.next().header("ce-id")).isEqualTo("4");
      assertThat(log.retried()).isEqualTo(2);
    }
  }

  @Test
  void shouldDropWhatThereIsNoRoomForWhileTheCollectorIsSlow() throws Exception {
    collector.hold();
    List<PayloadEvent> events = new ArrayList<>();
    for (int i = 0; i < 200; i++) {
      events.add(
          new PayloadEvent(
              Type.REQUEST,
              String.valueOf(i),
              NOW,
              new PayloadBody.AsIs(Map.of("content-type", "text/x"), new byte[1536])));
    }
    try (PayloadLog log =
        log(collector.url(), DataSize.ofKilobytes(64), Duration.ofSeconds(30), 1)) {
      events.forEach(log::offer);
      assertThat(log.dropped(Drop.FULL)).as("2 KiB each").isEqualTo(200 - 32);
      assertThat(log.waitingBytes()).isEqualTo(64 << 10);
      collector.go();
      for (int i = 0; i < 32; i++) {
        assertThat(collector.next().header("ce-id")).as("the newest are dropped").isEqualTo("" + i);
      }
      await(() -> log.waitingBytes() == 0);
      assertThat(log.sent()).isEqualTo(32);
    }
  }

  @Test
  void shouldGiveUpACollectorThatDoesNotAnswerOrIsNotThere() {
    collector.hold();
    try (PayloadLog log =
        log(collector.url(), DataSize.ofKilobytes(64), Duration.ofMillis(50), 2)) {
      log.offer(event("1"));
      await(() -> log.dropped(Drop.UNREACHED) == 1);
      assertThat(log.retried()).isEqualTo(1);
    }
    try (PayloadLog log =
        log("http://127.0.0.1:1/", DataSize.ofKilobytes(64), Duration.ofSeconds(5), 1)) {
      log.offer(event("1"));
      await(() -> log.dropped(Drop.UNREACHED) == 1);
      await(() -> log.waitingBytes() == 0);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void shouldGiveUpACollectorThatNeverEndsItsAnswer(boolean drips) throws Exception {
    try (EndlessCollector endless = new EndlessCollector(drips);
        PayloadLog log = log(endless.url(), DataSize.ofKilobytes(64), Duration.ofMillis(300), 2)) {
      log.offer(event("1"));
      await(() -> log.dropped(Drop.UNREACHED) == 1);
      assertThat(log.retried()).isEqualTo(1);
      log.offer(event("2"));
      await(() -> log.dropped(Drop.UNREACHED) == 2);
      assertThat(endless.begun()).as("attempts").isEqualTo(4);
      await(() -> endless.ended() == 4);
      await(() -> log.waitingBytes() == 0);
    }
  }

  @Test
  void shouldWaitLongerBetweenAttemptsToALimit() {
    assertThat(PayloadSender.pauseMillis(1)).isEqualTo(100);
    assertThat(PayloadSender.pauseMillis(2)).isEqualTo(400);
    assertThat(PayloadSender.pauseMillis(9)).isEqualTo(5_000);
  }

  /** The client's thread ends on any error, and the client sends no more then. */
  @Test
  void shouldSendOnWhenTheThreadOfItsClientHasEnded() throws Exception {
    Set<Thread> before = selectors();
    try (PayloadLog log = log()) {
      log.offer(event("1"));
      assertThat(collector.next().header("ce-id")).isEqualTo("1");
      await(() -> log.sent() == 1);
      Set<Thread> own = selectors();
      own.removeAll(before);
      assertThat(own).hasSize(1);
      for (Thread each : own) {
        each.interrupt();
        each.join();
      }
      log.offer(event("2"));
      assertThat(collector.next().header("ce-id")).isEqualTo("2");
    }
  }

  private static Set<Thread> selectors() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(each -> each.getName().matches("HttpClient-\\d+-SelectorManager"))
        .collect(Collectors.toCollection(HashSet::new));
  }

  @Test
  void shouldTakeRoomBeforeTheEventIsMade() throws Exception {
    collector.hold();
    try (PayloadLog log =
        log(collector.url(), DataSize.ofKilobytes(64), Duration.ofSeconds(30), 1)) {
      PayloadRoom first = Objects.requireNonNull(log.room(60 << 10));
      assertThat(log.waitingBytes()).isEqualTo((60 << 10) + 512);
      assertThat(log.room(60 << 10)).isNull();
      assertThat(log.dropped(Drop.FULL)).isEqualTo(1);
      first.offer(event("1"));
      first.close();
      assertThat(log.waitingBytes()).as("what the event has").isEqualTo(9 + 512);
      PayloadRoom unused = Objects.requireNonNull(log.room(60 << 10));
      unused.close();
      unused.close();
      assertThat(log.waitingBytes()).isEqualTo(9 + 512);
      collector.go();
      await(() -> log.waitingBytes() == 0);
    }
  }

  @Test
  void shouldNotHoldUpTheEndOfTheApplication() {
    collector.hold();
    PayloadLog log = log(collector.url(), DataSize.ofKilobytes(64), Duration.ofMinutes(1), 3);
    log.offer(event("1"));
    log.offer(event("2"));
    long begin = System.nanoTime();
    log.close();
    assertThat(System.nanoTime() - begin).isLessThan(6_000_000_000L);
    assertThat(log.dropped(Drop.STOPPED)).isEqualTo(2);
    assertThat(log.waitingBytes()).isZero();
    log.offer(event("3"));
    assertThat(log.dropped(Drop.STOPPED)).isEqualTo(3);
    assertThat(log.room(1)).isNull();
    assertThat(log.dropped(Drop.STOPPED)).isEqualTo(4);
    assertThat(log.waitingBytes()).isZero();
  }

  @Test
  void shouldSurviveABodyThatCannotBeMade() throws Exception {
    try (PayloadLog log = log()) {
      log.offer(
          new PayloadEvent(
              Type.REQUEST,
              "1",
              NOW,
              new PayloadBody.Later(
                  1,
                  () -> {
                    throw new IllegalStateException("no body");
                  })));
      log.offer(new PayloadEvent(Type.REQUEST, "2", NOW, new PayloadBody.Later(1, () -> null)));
      log.offer(
          new PayloadEvent(
              Type.REQUEST,
              "2",
              NOW,
              new PayloadBody.Later(
                  1,
                  () -> {
                    throw new OutOfMemoryError("of a test");
                  })));
      log.offer(event("3"));
      assertThat(collector.next().header("ce-id")).isEqualTo("3");
      assertThat(log.dropped(Drop.FAILED)).isEqualTo(2);
      assertThat(log.dropped(Drop.LARGE)).isEqualTo(1);
      await(() -> log.waitingBytes() == 0);
    }
  }

  @Test
  void shouldRefuseSettingsThatCannotWork() {
    assertRefused("collector:8080", "", "test.payload-log.url is 'collector:8080'");
    assertRefused("http://user:secret@collector/", "", "a host, a port and a path");
    assertRefused("http://", "", "test.payload-log.url");
    assertRefused("http://collector/", "own", "nothing is encrypted");
    assertRefused("https://collector/", "own", "test.payload-log.ssl-bundle is 'own'");
  }

  private static void assertRefused(String url, String bundle, String text) {
    PayloadLogProperties wrong =
        properties(url, DataSize.ofMegabytes(1), Duration.ofSeconds(1), 1, bundle);
    assertThatThrownBy(
            () -> PayloadLog.of(wrong, "test.payload-log", "x", new DefaultSslBundleRegistry()))
        .isInstanceOf(StartRefusedException.class)
        .hasMessageContaining(text);
  }

  @Test
  void shouldBeNothingWithoutAUrl() {
    assertThat(
            PayloadLog.of(
                properties("", DataSize.ofMegabytes(1), Duration.ofSeconds(1), 1, ""),
                "test.payload-log",
                "x",
                new DefaultSslBundleRegistry()))
        .isNull();
  }
}
