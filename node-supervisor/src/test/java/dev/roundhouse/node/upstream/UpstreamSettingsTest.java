package dev.roundhouse.node.upstream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.platform.config.StartRefusedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class UpstreamSettingsTest {
  private static final String W = "roundhouse.worker.";
  private static final String N = "roundhouse.node.";

  @TempDir Path folder;
  private final Map<String, String> environment = new HashMap<>();

  @Test
  void shouldReadANodeFile() throws Exception {
    node(
        """
        model_repo: /models
        base_port: 9000
        gpus: [0, "GPU-a"]
        role: workers
        shared_host_weights: yes
        global:
          model_poll_seconds: 7.5
          model_control_mode: explicit
          runtime:
            backend: cuda
            mem_fraction: 0.8
            allow_cpu_fallback: false
            shared_host_weights_mode: "660"
          scheduler:
            discipline: edf
            models:
              resnet: {weight: 2.0, residency: pinned_system}
              my.model: {pin_to_gpu: true, max_batch_size: 8}
          endpoints:
            max_concurrent_requests: 0
          grpc:
            max_recv_msg_bytes: 536870912
        """);
    assertThat(UpstreamSettings.of(environment))
        .isEqualTo(
            Map.ofEntries(
                Map.entry(W + "repository.directories", "/models"),
                Map.entry(N + "ports.worker-base", "9000"),
                Map.entry(N + "devices.gpus", "[0,GPU-a]"),
                Map.entry(W + "residency.host.shared", "true"),
                Map.entry(W + "repository.poll-interval", "7500ms"),
                Map.entry(W + "repository.mode", "static"),
                Map.entry(W + "residency.mode", "externally-managed"),
                Map.entry(W + "device.platform", "cuda"),
                Map.entry(N + "devices.platform", "cuda"),
                Map.entry(N + "role", "workers"),
                Map.entry(W + "device.cuda.memory-fraction", "0.8"),
                Map.entry(W + "residency.host.shared-mode", "0660"),
                Map.entry(W + "scheduler.discipline", "edf"),
                Map.entry(W + "models[resnet].weight", "2.0"),
                Map.entry(W + "models[resnet].residency", "pinned-system"),
                Map.entry(W + "models[my.model].residency", "pinned-device"),
                Map.entry(W + "models[my.model].max-batch-size", "8"),
                Map.entry(W + "server.max-message-size", "536870912B")));
  }

  @Test
  void shouldTellOneGpuFromTheirNumber() throws Exception {
    node("gpus: [1]");
    assertThat(UpstreamSettings.of(environment)).isEqualTo(Map.of(N + "devices.gpus", "[1]"));
    node("gpus: 1");
    assertThat(UpstreamSettings.of(environment)).isEqualTo(Map.of(N + "devices.gpus", "1"));
    node("workers: [{name: left, gpu: 1}]");
    assertThat(UpstreamSettings.of(environment))
        .isEqualTo(Map.of(N + "devices.gpus", "[1]", N + "worker.names", "left"));
    node(
        "{workers: [{name: left, gpu: 1}, {name: right, gpu: GPU-a}], global: {model_dirs: [/a, /b]}}");
    assertThat(UpstreamSettings.of(environment))
        .isEqualTo(
            Map.of(
                N + "devices.gpus", "[1,GPU-a]",
                N + "worker.names", "left,right",
                W + "repository.directories", "/a,/b"));
  }

  @Test
  void shouldReadAGatewayFile() throws Exception {
    gateway(
        """
        listen: {grpc: "10.0.0.1:9001", metrics: ":9002"}
        scheduling:
          mode: lpt_packing
          default_replicas: all
          forbid_memory_oversubscription: off
          models:
            resnet: {replicas: 2, fill_mode: spread}
        """);
    assertThat(UpstreamSettings.of(environment))
        .isEqualTo(
            Map.of(
                N + "ports.grpc",
                "9001",
                N + "ports.address",
                "10.0.0.1",
                N + "ports.metrics",
                "9002",
                "roundhouse.gateway.scheduling.mode",
                "lpt_packing",
                "roundhouse.gateway.scheduling.default-replicas",
                "all",
                "roundhouse.gateway.scheduling.forbid-memory-oversubscription",
                "false",
                "roundhouse.gateway.scheduling.models[resnet].replicas",
                "2",
                "roundhouse.gateway.scheduling.models[resnet].fill-mode",
                "spread"));
  }

  @Test
  void shouldLetVariablesWinOverFiles() throws Exception {
    node("{model_repo: /models, global: {scheduler: {discipline: edf}}}");
    environment.put("INFERENCE_SERVER_SCHEDULER_DISCIPLINE", "fifo");
    environment.put("INFERENCE_SERVER_MODEL_DIRS", "/a:/b");
    environment.put("REACTANT_CPU_WORKERS", "3");
    environment.put("REACTANT_SUPERVISOR_MAX_RESTARTS", "4");
    environment.put("REACTANT_GPU_RECLAIM_TIMEOUT_SECONDS", "0");
    environment.put("REACTANT_GATEWAY_SCHEDULING_MODE", "round_robin");
    assertThat(UpstreamSettings.of(environment))
        .isEqualTo(
            Map.of(
                W + "scheduler.discipline",
                "fifo",
                W + "repository.directories",
                "/a,/b",
                N + "devices.cpu-workers",
                "3",
                N + "restart.max-restarts",
                "4",
                N + "devices.reclaim-timeout",
                "0ms",
                "roundhouse.gateway.scheduling.mode",
                "round_robin"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "model_rep: /m|Unknown key 'model_rep'|Did you mean 'model_repo'",
        "global: {scheduler: {disciplin: edf}}|'global.scheduler.disciplin'|'global.scheduler.discipline'",
        "global: {runtime: {residency_mode: x}}|'global.runtime.residency_mode' of|Retired there too: write model_control_mode",
        "global: {batch_policy: {x: 1}}|Unknown key 'global.batch_policy.x'|'global.batch_policy'",
        "global: {batch_policy: x}|'global.batch_policy'|write scheduler.discipline",
        "metrics_base_port: 9100|'metrics_base_port'|third from roundhouse.node.ports.worker-base",
        "workers: [{name: w0, port: 0}]|'workers[].port'|Write under global",
        "models: {resnet: [w0]}|'models.resnet'|residency=pinned-device",
        "shared_host_weights: maybe|must be true or false|docs/upstream.md",
        "global: {runtime: {allow_cpu_fallback: true}}|can only be false|never falls back",
        "global: {runtime: {backend: tpu}}|must be cpu or cuda|roundhouse.node.devices.platform",
        "global: {model_poll_seconds: soon}|must be a number of seconds|docs/upstream.md",
        "[a|cannot be read|Correct the file",
      })
  void shouldRefuseByNameWithTheWayOut(String yaml, String description, String action)
      throws Exception {
    node(yaml);
    assertThat(refusal()).contains(description).contains(action);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "INFERENCE_SERVER_SCHEDULER_DISCIPLIN|Did you mean INFERENCE_SERVER_SCHEDULER_DISCIPLINE?",
        "REACTANT_CPU_WORKER|Did you mean REACTANT_CPU_WORKERS?",
        "REACTANT_GATEWAY_WORKERS|The supervisor tells the gateway its workers",
        "REACTANT_GATEWAY_MODE|Did you mean",
        "REACTANT_FANOUT_BYTES|Metas have no scratch memory",
      })
  void shouldRefuseVariablesByName(String variable, String action) {
    environment.put(variable, "1");
    assertThat(refusal()).contains(variable).contains(action);
  }

  @Test
  void shouldLeaveVariablesOfServicesAndClientsAlone() {
    environment.put("INFERENCE_SERVER_SERVICE_HOST", "10.0.0.7");
    environment.put("INFERENCE_SERVER_SERVICE_PORT_GRPC", "8001");
    environment.put("INFERENCE_SERVER_PORT", "tcp://10.0.0.7:8001");
    environment.put("INFERENCE_SERVER_PORT_8001_TCP_ADDR", "10.0.0.7");
    environment.put("REACTANT_CLIENT_GRPC_MAX_RECV_MSG_BYTES", "1");
    environment.put("HOME", "/");
    assertThat(UpstreamSettings.of(environment)).isEmpty();
  }

  @Test
  void shouldRefuseWhatContradictsItself() throws Exception {
    gateway("listen: {grpc: '10.0.0.1:1', metrics: '10.0.0.2:2'}");
    assertThat(refusal())
        .contains("'listen.grpc'", "'listen.metrics'", "ports.address", "10.0.0.2");
  }

  @Test
  void shouldNameAFileThatIsNotThere() {
    environment.put("REACTANT_NODE_FILE", folder.resolve("missing").toString());
    assertThat(refusal()).contains("REACTANT_NODE_FILE is '" + folder.resolve("missing") + "'");
  }

  private String refusal() {
    StartRefusedException refusal =
        catchThrowableOfType(StartRefusedException.class, () -> UpstreamSettings.of(environment));
    assertThat(refusal).isNotNull();
    return refusal.getMessage() + " " + refusal.action();
  }

  private void node(String yaml) throws Exception {
    Path file = Files.writeString(folder.resolve("node.yaml"), yaml);
    environment.put("REACTANT_NODE_FILE", file.toString());
  }

  private void gateway(String yaml) throws Exception {
    Path file = Files.writeString(folder.resolve("gateway.yml"), yaml);
    environment.put("REACTANT_GATEWAY_FILE", file.toString());
  }
}
