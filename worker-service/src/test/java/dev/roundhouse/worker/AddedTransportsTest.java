package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.platform.config.StartRefusedException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Transports in jars: which are taken, and what the worker thinks of their code. */
@Timeout(120)
class AddedTransportsTest {
  private static final String ON = "--roundhouse.worker.transports.line.enabled=true";
  private static final String PORT = "--roundhouse.worker.transports.line.settings.port=0";

  /** "x=" and [1, 2] of floats. */
  private static final String X = "x=AACAPwAAAEA=";

  private static final String Y = "y=AAAAQAAAgEA=";

  @TempDir Path repository;
  @TempDir Path jars;

  @BeforeEach
  void write() {
    TestBundle.doubling(2, 1).write(repository, "double");
  }

  private RunningWorker start(String... settings) throws Exception {
    List<String> all =
        new ArrayList<>(List.of("--roundhouse.worker.server.transports-directory=" + jars));
    all.addAll(List.of(settings));
    return new RunningWorker(repository, TestBundle.DOUBLE, all.toArray(String[]::new))
        .awaitLoaded();
  }

  private void assertRefused(String text, String... settings) {
    Throwable failure = catchThrowable(() -> start(settings).close());
    assertThat(failure).as("a start that is to be refused").isNotNull();
    while (!(failure instanceof StartRefusedException) && failure.getCause() != null) {
      failure = failure.getCause();
    }
    assertThat(failure).isInstanceOf(StartRefusedException.class).hasMessageContaining(text);
    assertThat(((StartRefusedException) failure).action()).isNotEmpty();
  }

  /** A provider with these members, in a jar. */
  private void jar(String name, String members) throws IOException {
    Path source = Files.createDirectories(jars.resolve("src")).resolve("Odd.java");
    Files.writeString(
        source,
        """
        import dev.roundhouse.engine.transport.*;
        import java.time.Duration;
        import java.util.List;
        public class Odd implements TransportProvider, Transport {
          public String name() { return "odd"; }
          public Transport open(TransportContext context) { return this; }
          public void start() {}
          public List<Integer> ports() { return List.of(); }
          public void drain() {}
          public void stop(Duration budget) {}
        """
            + "}");
    String text = Files.readString(source);
    for (String member : members.split("\n")) {
      if (!member.isEmpty()) {
        String begin = member.substring(0, member.indexOf(')') + 1);
        text = text.replaceAll("(?m)^" + Pattern.quote(begin) + ".*$", "");
      }
    }
    Files.writeString(source, text.substring(0, text.lastIndexOf('}')) + members + "\n}");
    ExampleTransport.jar(jars, name, List.of(source), "Odd\n");
  }

  @Test
  void shouldNotUseWhatIsNotSwitchedOn() throws Exception {
    ExampleTransport.jar(jars);
    try (RunningWorker worker = start()) {
      assertThat(worker.get("metrics", "/actuator/info"))
          .contains("\"grpc\":")
          .doesNotContain("line");
      assertThat(worker.get("metrics", "/metrics")).doesNotContain("roundhouse_transport_");
    }
  }

  @Test
  void shouldServeShowAndCountIt() throws Exception {
    ExampleTransport.jar(jars);
    try (RunningWorker worker = start(ON, PORT);
        TransportClient.OverLines client = new TransportClient.OverLines(worker.port("line"))) {
      client.say("a infer double timeout=60000 " + X);
      client.say("b infer double " + X);
      client.say("nonsense");
      assertThat(List.of(client.hear(), client.hear(), client.hear()))
          .contains("a ok " + Y, "b ok " + Y)
          .anyMatch(line -> line.startsWith("- error INVALID_ARGUMENT write 'ID infer"));
      assertThat(worker.get("metrics", "/actuator/info"))
          .contains("\"line\":" + worker.port("line"));
      assertThat(worker.get("metrics", "/metrics"))
          .contains("roundhouse_transport_connections_open{transport=\"line\"} 1.0")
          .contains("roundhouse_transport_requests_total{transport=\"line\"} 2.0")
          .contains("roundhouse_transport_requests_open{transport=\"line\"} 0.0")
          .contains(
              "roundhouse_transport_events_total{event=\"bad_lines\",transport=\"line\"} 1.0");
    }
  }

  @Test
  void shouldShowTheLevelsThatItMeasures() throws Exception {
    jar(
        "odd.jar",
        "  public Transport open(TransportContext context) { context.meters().level(\"depth\", () -> 7); return this; }");
    try (RunningWorker worker = start("--roundhouse.worker.transports.odd.enabled=true")) {
      assertThat(worker.get("metrics", "/metrics"))
          .contains("roundhouse_transport_level{level=\"depth\",transport=\"odd\"} 7.0");
    }
  }

  /** Its libraries look for their parts by their thread's class loader. */
  @Test
  void shouldRunItsCodeWithItsOwnClassLoader() throws Exception {
    jar(
        "odd.jar",
        """
          public Transport open(TransportContext context) { check(); return this; }
          public void start() { check(); }
          private static void check() { if (Thread.currentThread().getContextClassLoader() != Odd.class.getClassLoader()) { throw new IllegalStateException("a strange loader"); } }
        """);
    ClassLoader before = Thread.currentThread().getContextClassLoader();
    start("--roundhouse.worker.transports.odd.enabled=true").close();
    assertThat(Thread.currentThread().getContextClassLoader()).isSameAs(before);
  }

  @Test
  void shouldHoldItsClientsAgainstTheRulesOfAccess() throws Exception {
    ExampleTransport.jar(jars);
    TestBundle.doubling(2, 1).write(repository, "theirs");
    byte[] hash =
        MessageDigest.getInstance("SHA-256").digest("team".getBytes(StandardCharsets.UTF_8));
    Path tokens = jars.resolve("tokens");
    Files.writeString(tokens, "sha256:" + HexFormat.of().formatHex(hash) + "\n");
    String of = "--roundhouse.worker.access.";
    try (RunningWorker worker =
            start(
                ON,
                PORT,
                of + "inference=token",
                of + "identities.team.token-files=" + tokens,
                of + "identities.team.models=double",
                of + "identities.team.requests-per-second=1");
        TransportClient.OverLines client = new TransportClient.OverLines(worker.port("line"))) {
      client.say("a infer double " + X);
      assertThat(client.hear()).startsWith("a error UNAUTHENTICATED").contains("needs a bearer");
      client.say("token nobody's");
      client.say("b infer double " + X);
      assertThat(client.hear()).startsWith("b error UNAUTHENTICATED");
      client.say("token team");
      client.say("c infer theirs " + X);
      assertThat(client.hear()).startsWith("c error DENIED 'team' may not use model 'theirs'");
      client.say("d infer double " + X);
      assertThat(client.hear()).isEqualTo("d ok " + Y);
      String over = "";
      for (int i = 0; !over.contains("QUOTA") && i < 100; i++) {
        client.say("e infer double " + X);
        over = client.hear();
      }
      assertThat(over).startsWith("e error QUOTA 'team' has used up");
    }
  }

  @Test
  void shouldCountWhatALineHoldsWhileItArrives() throws Exception {
    ExampleTransport.jar(jars);
    try (RunningWorker worker = start(ON, PORT)) {
      TransportClient.OverLines client = new TransportClient.OverLines(worker.port("line"));
      client.begin("a infer double x=" + "A".repeat(100_000));
      Engine engine = worker.bean(Engine.class);
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
      while (engine.heldBytes() < 100_000 && System.nanoTime() < end) {
        Thread.onSpinWait();
      }
      assertThat(engine.heldBytes()).isBetween(100_000L, 140_000L);

      client.close();

      worker.assertHoldsNothing();
    }
  }

  @Test
  void shouldRefuseWhatIsNoJarOrHasNoTransport() throws Exception {
    Path bad = Files.writeString(jars.resolve("bad.jar"), "no jar");
    assertRefused(bad + " is no jar that can be read");
    Files.delete(bad);

    jar("odd.jar", "");
    ExampleTransport.jar(jars, "odd.jar", List.of(jars.resolve("src/Odd.java")), "");
    assertRefused("TransportProvider is empty");

    ExampleTransport.jar(jars, "odd.jar", List.of(jars.resolve("src/Odd.java")), "Absent");
    assertRefused("Provider Absent not found");
  }

  @Test
  void shouldRefuseNamesThatAreUnknownOrTaken() throws Exception {
    ExampleTransport.jar(jars);
    assertRefused(
        "roundhouse.worker.transports.lime is set, and there is no transport 'lime'; there are [line]",
        "--roundhouse.worker.transports.lime.enabled=true");

    for (String own : List.of("grpc", "tee")) {
      jar("odd.jar", "  public String name() { return \"" + own + "\"; }");
      assertRefused("The transport '" + own + "' of the jar " + jars.resolve("odd.jar"));
    }
    jar("odd.jar", "  public String name() { return \"line\"; }");
    assertRefused("has the name of one of the jar " + jars.resolve("line.jar"));
    jar("odd.jar", "  public String name() { return \"An Odd\"; }");
    assertRefused("calls itself 'An Odd', which is no name");
  }

  @Test
  void shouldRefuseSettingsThatItDoesNotKnowOrCannotUse() throws Exception {
    ExampleTransport.jar(jars);
    String settings = "roundhouse.worker.transports.line.settings.";
    assertRefused(
        settings + "prot is set, and the transport 'line' has no such setting",
        ON,
        "--" + settings + "prot=1");
    assertRefused(
        settings + "port is 'x'; write a whole number from 0 to 65535",
        ON,
        "--" + settings + "port=x");
    try (RunningWorker other = start(ON, PORT)) {
      assertRefused(
          "The transport 'line' cannot be started: " + settings + "port=" + other.port("line"),
          ON,
          "--" + settings + "port=" + other.port("line"));
    }
  }

  @Test
  void shouldRefuseOneWhoseCodeFails() throws Exception {
    String on = "--roundhouse.worker.transports.odd.enabled=true";
    jar(
        "odd.jar",
        "  public Transport open(TransportContext context) { throw new Error(\"oh\"); }");
    assertRefused("The transport 'odd' of the jar " + jars.resolve("odd.jar"), on);
    jar("odd.jar", "  public Transport open(TransportContext context) { return null; }");
    assertRefused("its provider returns null", on);
    jar("odd.jar", "  public void start() { throw new IllegalStateException(\"oh\"); }");
    assertRefused("'odd' cannot be started: it failed with", on);
  }

  /** It sees the API, and neither the worker's own classes nor its libraries. */
  @Test
  void shouldNotShowItTheWorkersClasses() throws Exception {
    for (String hidden :
        List.of("dev.roundhouse.engine.Engine", "io.netty.buffer.ByteBuf", "io.grpc.Status")) {
      jar(
          "odd.jar",
          "  public Transport open(TransportContext context) { return new Object() { Transport go() { try { Class.forName(\"%s\"); return Odd.this; } catch (ClassNotFoundException e) { return null; } } }.go(); }"
              .formatted(hidden));
      assertRefused("its provider returns null", "--roundhouse.worker.transports.odd.enabled=true");
    }
  }

  @Test
  void shouldStopAllTheSameWhenItDoesNot() throws Exception {
    jar(
        "odd.jar",
        "  public void stop(Duration budget) { while (true) { try { Thread.sleep(1000000); } catch (InterruptedException e) { } } }\n  public void drain() { throw new Error(\"oh\"); }");
    RunningWorker worker =
        start(
            "--roundhouse.worker.transports.odd.enabled=true",
            "--roundhouse.worker.shutdown.drain=100ms");
    worker.close();
    assertThat(Thread.getAllStackTraces().keySet())
        .extracting(Thread::getName)
        .doesNotContain("dispatch", "transport-odd");
  }
}
