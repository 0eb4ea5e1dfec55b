package dev.roundhouse.node;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.node.actuator.NodeDetails;
import dev.roundhouse.node.actuator.NodeDetails.ProcessDetails;
import dev.roundhouse.node.actuator.NodeEndpoint;
import dev.roundhouse.node.plan.NodePlan;
import dev.roundhouse.node.process.ProcessState;
import dev.roundhouse.platform.access.AccessTest;
import dev.roundhouse.platform.rest.Browsers;
import dev.roundhouse.platform.rest.HttpServerSettings;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.channels.ClosedChannelException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.support.GenericApplicationContext;

/** The application with real processes, which stand in for workers and gateway. */
@Timeout(300)
@ExtendWith(OutputCaptureExtension.class)
class NodeTest {
  private static final String DOCUMENT = "--spring.config.additional-location=";

  @TempDir Path folder;
  private @Nullable Duration stalled;
  private final CompletableFuture<Integer> exited = new CompletableFuture<>();

  @Test
  void shouldRunWorkersAndAGatewayAndBeReadyWhenTheGatewayIs(CapturedOutput output)
      throws Exception {
    try (ConfigurableApplicationContext node =
        node("--roundhouse.node.devices.cpu-workers=2", "--roundhouse.worker.server.name=mine")) {
      ready("worker");
      await(() -> process(node, "worker0").ready() && process(node, "worker1").ready());
      assertThat(details(node).ready()).as("the gateway is not").isFalse();
      assertThat(get(node, "/actuator/health/readiness"))
          .startsWith("503 ")
          .contains("\"worker0\":\"READY\"", "\"gateway\":\"RUNNING\"");
      assertThat(output).doesNotContain("ready grpc=");

      ready("gateway");
      await(() -> details(node).ready());
      assertThat(get(node, "/actuator/health/readiness")).startsWith("200 ");
      await(() -> output.getOut().contains("[worker1] up\n"));
      int grpc = node.getBean(NodePlan.class).ports().open().orElseThrow().grpc();
      await(() -> output.getOut().contains("ready grpc=" + grpc + " "));
      assertThat(output.getOut()).containsPattern("(?m)^ready grpc=.* workers=2 gateway=true ");

      assertThat(get(node, "/actuator/node"))
          .startsWith("200 {\"ready\":true,\"devices\":{\"platform\":\"cpu\"")
          .contains("\"name\":\"gateway\",\"state\":\"RUNNING\",\"ready\":true,\"pid\":");
      try (Socket socket = new Socket("127.0.0.1", node.getBean(NodePlan.class).ports().node())) {
        socket
            .getOutputStream()
            .write(
                "GET /metrics HTTP/1.1\r\nHost: my_node:8002\r\nConnection: close\r\n\r\n"
                    .getBytes(StandardCharsets.US_ASCII));
        assertThat(new String(socket.getInputStream().readAllBytes(), UTF_8))
            .startsWith("HTTP/1.1 200");
      }
      assertThat(get(node, "/metrics"))
          .contains(
              "roundhouse_node_process_up{process=\"worker1\"} 1.0",
              "roundhouse_node_process_restarts_total{process=\"gateway\"} 0.0",
              "roundhouse_node_ready 1.0");
      assertThat(Files.readString(folder.resolve("worker.arguments")))
          .contains("--roundhouse.worker.server.name=mine");
      assertThat(Files.readString(folder.resolve("gateway.arguments")))
          .contains(
              "--roundhouse.gateway.workers.worker1.http=127.0.0.1:"
                  + process(node, "worker1").ports().http())
          .doesNotContain("server.name");
    }
    assertThat(folder.resolve("stops")).content().isEqualTo("gateway\nworker\nworker\n");
  }

  @Test
  void shouldAnswerOperatorsForItsWorkersAndItsGateway() throws Exception {
    try (ConfigurableApplicationContext node = node("--roundhouse.node.devices.cpu-workers=2")) {
      ready("worker");
      ready("gateway");
      await(() -> details(node).ready());
      assertThat(get(node, "/metrics"))
          .startsWith("200 ")
          .contains(
              "roundhouse_node_ready 1.0",
              "# TYPE runs gauge\nruns{process=\"gateway\",of=\"gateway\"} 1.0\n"
                  + "runs{worker=\"worker0\",of=\"worker\"} 1.0\n"
                  + "runs{worker=\"worker1\",of=\"worker\"} 1.0\n",
              "roundhouse_worker_scrape_up{worker=\"worker1\"} 1.0");
      assertThat(get(node, "/metrics?workers=false"))
          .contains("roundhouse_node_ready 1.0")
          .doesNotContain("worker0\",of", "scrape_up");
      assertThat(get(node, "/actuator/settings"))
          .contains("{\"key\":\"roundhouse.node.devices.cpu-workers\",\"value\":\"2\",")
          .contains("\"workers\":[{\"worker\":\"worker0\",\"answered\":true,");
      assertThat(get(node, "/actuator/models?worker=worker1"))
          .startsWith(
              "200 {\"models\":[{\"worker\":\"worker1\",\"name\":\"of worker\"}],"
                  + "\"workers\":[{\"worker\":\"worker1\",\"answered\":true,\"failure\":null,");
    }
  }

  @Test
  void shouldHaveAWorkersMetricsWhereThereIsOne() throws Exception {
    try (ConfigurableApplicationContext node = node()) {
      ready("worker");
      await(() -> details(node).ready());
      assertThat(get(node, "/actuator/prometheus"))
          .contains("runs{worker=\"worker0\",of=\"worker\"} 1.0");
    }
  }

  @Test
  void shouldBeReadyWhenEveryWorkerIsWhereThereIsNoGateway(CapturedOutput output) throws Exception {
    try (ConfigurableApplicationContext node =
        node("--roundhouse.node.role=workers", "--roundhouse.node.devices.cpu-workers=2")) {
      ready("worker");
      await(() -> details(node).ready());
      int first = process(node, "worker0").ports().grpc();
      int second = process(node, "worker1").ports().grpc();
      await(() -> output.getOut().contains("ready grpc=" + first + "," + second + " "));
      assertThat(output.getOut()).containsPattern("(?m)^ready grpc=.* workers=2 gateway=false ");
    }
    assertThat(folder.resolve("gateway.arguments")).doesNotExist();
  }

  @Test
  void shouldBeReadyWhenItsGatewayIsWhereThereAreNoWorkers(CapturedOutput output) throws Exception {
    try (ConfigurableApplicationContext node =
        node(
            "--roundhouse.node.role=gateway",
            "--roundhouse.gateway.workers.far.address=10.0.0.7:8001")) {
      ready("gateway");
      await(() -> details(node).ready());
      await(() -> output.getOut().contains(" workers=0 gateway=true "));
      assertThat(output).contains("a gateway, whose workers are elsewhere");
      assertThat(Files.readString(folder.resolve("gateway.arguments")))
          .contains("--roundhouse.gateway.workers.far.address=10.0.0.7:8001")
          .doesNotContain("worker0");
    }
    assertThat(folder.resolve("worker.arguments")).doesNotExist();
  }

  @Test
  void shouldListenWhereASharedDocumentHasOperatorsPorts() throws Exception {
    Files.writeString(
        folder.resolve("application.yaml"), "management: {server: {address: 127.0.0.2}}\n");
    try (ConfigurableApplicationContext node = node(DOCUMENT + "file:" + folder + "/")) {
      int port = node.getBean(NodePlan.class).ports().node();
      assertThat(get("127.0.0.2", port, "/actuator/node")).startsWith("200 ");
      assertThatThrownBy(() -> get("127.0.0.1", port, "/actuator/node"))
          .hasRootCauseInstanceOf(ClosedChannelException.class);
    }
  }

  @Test
  void shouldListenWhereItsOwnKeySaysWhateverASharedDocumentHas() throws Exception {
    Files.writeString(
        folder.resolve("application.yaml"),
        """
        management: {server: {address: 127.0.0.2}}
        roundhouse: {node: {ports: {address: 127.0.0.1}}}
        """);
    try (ConfigurableApplicationContext node = node(DOCUMENT + "file:" + folder + "/")) {
      assertThat(get(node, "/actuator/node")).startsWith("200 ");
    }
  }

  @Test
  void shouldRefuseOperatorsAddressOnItsOwnCommandLine() {
    assertThatThrownBy(() -> node("--management.server.address=127.0.0.1"))
        .hasMessageContaining("--management.server.address");
  }

  @Test
  void shouldEndAClientThatSendsItsRequestByteByByte() throws Exception {
    stalled = Duration.ofMillis(200);
    try (ConfigurableApplicationContext node = node();
        Socket client = new Socket("127.0.0.1", node.getBean(NodePlan.class).ports().node())) {
      client.getOutputStream().write("GET /actuator/node HTTP/1.1\r\nX: ".getBytes(UTF_8));
      await(() -> isRefused(client, 'x'));
      assertThat(get(node, "/actuator/node")).startsWith("200 ");
    }
  }

  private static boolean isRefused(Socket client, char next) {
    try {
      client.getOutputStream().write(next);
      return false;
    } catch (IOException closed) {
      return true;
    }
  }

  @Test
  void shouldStartAgainWhatWasKilled() throws Exception {
    ready("worker");
    try (ConfigurableApplicationContext node = node()) {
      await(() -> details(node).ready());
      long pid = pid(node);
      ProcessHandle.of(pid).orElseThrow().destroyForcibly();
      await(() -> process(node, "worker0").restarts() == 1 && details(node).ready());
      assertThat(pid(node)).isNotEqualTo(pid);
      assertThat(process(node, "worker0").lastExit()).isEqualTo(137);
      assertThat(get(node, "/metrics"))
          .contains("roundhouse_node_process_restarts_total{process=\"worker0\"} 1.0");
    }
  }

  @Test
  void shouldEndWithCodeOneWhenAProcessEndsTooOften() throws Exception {
    Files.createFile(folder.resolve("fails"));
    try (ConfigurableApplicationContext node =
        node(
            "--roundhouse.node.restart.max-restarts=2",
            "--roundhouse.node.restart.max-backoff=10ms")) {
      assertThat(exited.get(120, TimeUnit.SECONDS)).isEqualTo(1);
      ProcessDetails worker = process(node, "worker0");
      assertThat(worker.state()).isEqualTo(ProcessState.STOPPED);
      assertThat(worker.starts()).isEqualTo(3);
      assertThat(worker.lastExit()).isEqualTo(9);
    }
  }

  @Test
  void shouldGiveEachWorkerOneGpuAndWaitForItsMemoryBeforeEachStart() throws Exception {
    ready("worker");
    ready("gateway");
    Path smi =
        Files.writeString(
            folder.resolve("nvidia-smi"),
            """
            #!/bin/sh
            case $1 in
              --query-gpu=uuid) printf 'GPU-a\\nGPU-b\\n' ;;
              *) printf '0, GPU-a, %s, 100\\n1, GPU-b, 10, 100\\n' "$(cat '%1$s/used')" ;;
            esac
            """
                .replace("%1$s", folder.toString()));
    Files.setPosixFilePermissions(smi, PosixFilePermissions.fromString("rwx------"));
    Path used = Files.writeString(folder.resolve("used"), "90");
    try (ConfigurableApplicationContext node =
        node(
            "--roundhouse.node.devices.platform=cuda",
            "--roundhouse.node.devices.nvml-library=" + folder.resolve("missing.so"),
            "--roundhouse.node.devices.nvidia-smi=" + smi,
            "--roundhouse.node.devices.poll-interval=100ms",
            "--roundhouse.node.devices.reclaim-timeout=1h")) {
      await(() -> process(node, "worker1").ready());
      await(() -> get(node, "/actuator/node").contains("\"usedBytes\":94371840"));
      assertThat(process(node, "worker0").state()).isEqualTo(ProcessState.WAITING);
      Files.writeString(used, "15");
      await(() -> process(node, "worker0").ready());
      assertThat(Files.readString(folder.resolve("worker.arguments")))
          .contains(
              "--roundhouse.worker.device.platform=cuda",
              "CUDA_VISIBLE_DEVICES=GPU-a\n",
              "CUDA_VISIBLE_DEVICES=GPU-b\n");
      assertThat(get(node, "/metrics"))
          .contains("roundhouse_node_device_memory_total_bytes{device=\"GPU-b\"} 1.048576E8");

      Files.writeString(used, "80");
      ProcessHandle.of(pid(node)).orElseThrow().destroyForcibly();
      await(() -> process(node, "worker0").state() == ProcessState.WAITING);
      Files.writeString(used, "0");
      await(() -> process(node, "worker0").restarts() == 1 && process(node, "worker0").ready());
    }
  }

  @Test
  void shouldStopWhatItStartedWhenItsOwnStartFailsFurtherOn() throws Exception {
    assertThatThrownBy(() -> run(new FailingStart(folder)).close())
        .hasStackTraceContaining("no more of this");
    assertThat(folder.resolve("stops")).content().isEqualTo("worker\n");
  }

  @Test
  void shouldRefuseKeysThatNobodyReads(CapturedOutput output) {
    assertThatThrownBy(() -> node("--roundhouse.node.devices.gpu=2").close());
    assertThat(output)
        .contains("Unknown configuration key 'roundhouse.node.devices.gpu'")
        .contains("Did you mean 'roundhouse.node.devices.gpus'?");
  }

  @Test
  void shouldRefuseToStartWithoutTheGpusThatItNeeds(CapturedOutput output) {
    assertThatThrownBy(
        () ->
            node("--roundhouse.node.devices.platform=cuda", "--roundhouse.node.devices.gpus=0")
                .close());
    assertThat(output).contains("platform is cuda and no GPU was found");
    assertThat(folder.resolve("worker.arguments")).doesNotExist();
  }

  @Test
  void shouldExplainItself() {
    ByteArrayOutputStream help = new ByteArrayOutputStream();
    NodeApplication.help(new PrintStream(help, true, StandardCharsets.UTF_8));
    assertThat(help.toString(StandardCharsets.UTF_8))
        .startsWith("Usage: ")
        .contains("--roundhouse.node.devices.gpus", "/actuator/node");
    assertThat(NodeApplication.isHelp(new String[] {"--help"})).isTrue();
    assertThat(NodeApplication.isHelp(new String[] {"--helpful=1"})).isFalse();
  }

  private ConfigurableApplicationContext node(String... settings) {
    return run(null, settings);
  }

  private ConfigurableApplicationContext run(@Nullable FailingStart last, String... settings) {
    List<String> arguments = new ArrayList<>();
    for (String port : List.of("grpc", "http", "metrics", "node", "worker-base")) {
      arguments.add("--roundhouse.node.ports." + port + "=0");
    }
    if (!String.join(" ", settings).contains(DOCUMENT)) {
      arguments.add("--roundhouse.node.ports.address=127.0.0.1");
    }
    boolean cuda = List.of(settings).toString().contains("platform=cuda");
    if (!cuda) {
      arguments.add("--roundhouse.node.devices.platform=cpu");
    }
    command(arguments, "worker");
    command(arguments, "gateway");
    arguments.addAll(List.of(settings));
    SpringApplication application = NodeApplication.application();
    application.addInitializers(
        context -> {
          GenericApplicationContext beans = (GenericApplicationContext) context;
          if (stalled != null) {
            HttpServerSettings impatient =
                new HttpServerSettings(
                    1 << 10, stalled, new Browsers(List.of(), ""), AccessTest.access(Map.of()));
            beans.registerBean(HttpServerSettings.class, () -> impatient);
          }
          beans.registerBean("processExit", IntConsumer.class, () -> exited::complete);
          if (last != null) {
            beans.registerBean("last", FailingStart.class, () -> last);
          }
        });
    return application.run(arguments.toArray(String[]::new));
  }

  private void command(List<String> arguments, String role) {
    List<String> command = StandIn.command(role, folder);
    for (int i = 0; i < command.size(); i++) {
      arguments.add("--roundhouse.node." + role + ".command[" + i + "]=" + command.get(i));
    }
  }

  private void ready(String role) throws Exception {
    Files.createFile(folder.resolve(role + ".ready"));
  }

  private static NodeDetails details(ConfigurableApplicationContext node) {
    return node.getBean(NodeEndpoint.class).node();
  }

  private static ProcessDetails process(ConfigurableApplicationContext node, String name) {
    return details(node).processes().stream()
        .filter(process -> process.name().equals(name))
        .findFirst()
        .orElseThrow();
  }

  private static long pid(ConfigurableApplicationContext node) {
    return Objects.requireNonNull(process(node, "worker0").pid());
  }

  private static String get(ConfigurableApplicationContext node, String path) {
    return get("127.0.0.1", node.getBean(NodePlan.class).ports().node(), path);
  }

  private static String get(String host, int port, String path) {
    try (HttpClient http = HttpClient.newHttpClient()) {
      var response =
          http.send(
              HttpRequest.newBuilder(URI.create("http://" + host + ":" + port + path)).build(),
              BodyHandlers.ofString());
      return response.statusCode() + " " + response.body();
    } catch (IOException | InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private static void await(BooleanSupplier condition) {
    long end = System.nanoTime() + Duration.ofSeconds(120).toNanos();
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime() - end).as("nanoseconds beyond the deadline").isNegative();
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
    }
  }

  /** Starts after everything else; fails once the worker can stop in order. */
  private record FailingStart(Path folder) implements SmartLifecycle {
    @Override
    public void start() {
      await(() -> Files.exists(folder.resolve("worker.up")));
      throw new IllegalStateException("no more of this");
    }

    @Override
    public void stop() {}

    @Override
    public boolean isRunning() {
      return false;
    }
  }
}
