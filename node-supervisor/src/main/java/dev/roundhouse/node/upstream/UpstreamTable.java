package dev.roundhouse.node.upstream;

import static dev.roundhouse.node.upstream.Conversion.BACKEND;
import static dev.roundhouse.node.upstream.Conversion.BYTES;
import static dev.roundhouse.node.upstream.Conversion.COLONS;
import static dev.roundhouse.node.upstream.Conversion.CONTROL_MODE;
import static dev.roundhouse.node.upstream.Conversion.FILE;
import static dev.roundhouse.node.upstream.Conversion.FLAG;
import static dev.roundhouse.node.upstream.Conversion.LIMIT;
import static dev.roundhouse.node.upstream.Conversion.LIST;
import static dev.roundhouse.node.upstream.Conversion.LISTEN;
import static dev.roundhouse.node.upstream.Conversion.NAMES;
import static dev.roundhouse.node.upstream.Conversion.OCTAL;
import static dev.roundhouse.node.upstream.Conversion.ONLY_FALSE;
import static dev.roundhouse.node.upstream.Conversion.PIN;
import static dev.roundhouse.node.upstream.Conversion.SECONDS;
import static dev.roundhouse.node.upstream.Conversion.TEXT;
import static dev.roundhouse.node.upstream.Conversion.WORD;
import static dev.roundhouse.node.upstream.Mapping.of;
import static dev.roundhouse.node.upstream.Mapping.refused;
import static dev.roundhouse.node.upstream.Scope.GATEWAY;
import static dev.roundhouse.node.upstream.Scope.NODE;
import static dev.roundhouse.node.upstream.Scope.VARIABLE;
import static dev.roundhouse.node.upstream.Scope.WORKER;

import java.util.List;
import java.util.stream.Stream;

/** Every key of upstream's version 0.1.10 and its equivalent. Source of docs/upstream.md. */
final class UpstreamTable {
  private static final String W = "roundhouse.worker.";
  private static final String G = "roundhouse.gateway.";
  private static final String N = "roundhouse.node.";
  private static final String CACHE =
      "compiled programs are kept where roundhouse.worker.compile.cache says";
  private static final String FRONT =
      "the open ports are roundhouse.node.ports.*; workers behind a gateway listen on loopback";
  private static final String TOLD = "the supervisor tells the gateway its workers; remove it";
  private static final String ANSWERS = "an answer may have 2 GiB; remove it";

  private UpstreamTable() {}

  static final List<Mapping> ALL =
      Stream.of(node(), workers(), gateway(), variables()).flatMap(List::stream).toList();

  private static List<Mapping> node() {
    return List.of(
        of(NODE, "model_repo", TEXT, W + "repository.directories"),
        of(
            NODE,
            "base_port",
            TEXT,
            N + "ports.worker-base",
            "of workers behind a gateway; worker i has this + 3i and the two ports after it"),
        refused(
            NODE,
            "metrics_base_port",
            "a worker's port for metrics is its third from roundhouse.node.ports.worker-base"),
        of(NODE, "gpus", TEXT, N + "devices.gpus"),
        of(NODE, "role", TEXT, N + "role"),
        of(NODE, "shared_host_weights", FLAG, W + "residency.host.shared"),
        of(NODE, "workers[].gpu", LIST, N + "devices.gpus", "of every worker or of none"),
        of(NODE, "workers[].name", NAMES, N + "worker.names"),
        refused(NODE, "workers[].NAME", "write under global what all workers share"),
        refused(
            NODE,
            "models.NAME",
            "roundhouse.worker.models.NAME.residency=pinned-device pins a model on every worker"));
  }

  private static List<Mapping> workers() {
    return List.of(
        of(WORKER, "model_dirs", COLONS, W + "repository.directories"),
        refused(
            WORKER,
            "models_include",
            "set roundhouse.worker.repository.mode=explicit and repository.load"),
        refused(WORKER, "cache_dir", CACHE),
        of(WORKER, "model_poll_seconds", SECONDS, W + "repository.poll-interval"),
        of(
            WORKER,
            "model_control_mode",
            CONTROL_MODE,
            W + "repository.mode",
            "explicit: static, and roundhouse.worker.residency.mode=externally-managed"),
        of(
            WORKER,
            "runtime.backend",
            BACKEND,
            W + "device.platform",
            "and roundhouse.node.devices.platform"),
        of(WORKER, "runtime.device_ordinal", TEXT, W + "device.ordinal"),
        of(WORKER, "runtime.mem_fraction", TEXT, W + "device.cuda.memory-fraction"),
        of(WORKER, "runtime.preallocate", FLAG, W + "device.cuda.preallocate"),
        of(
            WORKER,
            "runtime.allow_cpu_fallback",
            ONLY_FALSE,
            "",
            "a worker never falls back to the CPU; roundhouse.node.devices.platform=cpu chooses it"),
        of(WORKER, "runtime.weight_cache_fraction", TEXT, W + "residency.fraction"),
        of(WORKER, "runtime.weight_cache_wiggle_fraction", TEXT, W + "residency.wiggle"),
        refused(
            WORKER,
            "runtime.autotune",
            "roundhouse.worker.device.xla-flags=--xla_gpu_autotune_level=0 turns it off"),
        refused(WORKER, "runtime.autotune_cache", CACHE),
        refused(WORKER, "runtime.autotune_cache_dir", CACHE),
        of(WORKER, "runtime.numerics", TEXT, W + "runtime.numerics"),
        of(WORKER, "runtime.shared_host_weights", FLAG, W + "residency.host.shared"),
        of(WORKER, "runtime.shared_host_weights_mode", OCTAL, W + "residency.host.shared-mode"),
        refused(WORKER, "runtime.residency_mode", "retired there too: write model_control_mode"),
        refused(WORKER, "batch_policy", "retired there too: write scheduler.discipline"),
        refused(WORKER, "scheduler.batch_policy", "retired there too: write scheduler.discipline"),
        of(WORKER, "scheduler.discipline", WORD, W + "scheduler.discipline"),
        of(WORKER, "scheduler.ema_halflife_seconds", SECONDS, W + "scheduler.ema-half-life"),
        of(WORKER, "scheduler.recency_penalty_cap", TEXT, W + "scheduler.recency-penalty-cap"),
        refused(
            WORKER,
            "scheduler.coalescing_discount",
            "batches are charged what they cost; remove it"),
        of(WORKER, "scheduler.cost_ema_alpha", TEXT, W + "scheduler.cost-ema-alpha"),
        of(WORKER, "scheduler.max_queue_depth", TEXT, W + "scheduler.max-queue-depth"),
        refused(
            WORKER,
            "scheduler.dispatch_timeout_seconds",
            "not enforced there; here roundhouse.worker.watchdog.device-call is"),
        refused(
            WORKER,
            "scheduler.compaction_interval",
            "the control call CompactMemory compacts; by itself a worker does so when memory is short"),
        of(WORKER, "scheduler.models.NAME.weight", TEXT, W + "models.NAME.weight"),
        of(WORKER, "scheduler.models.NAME.residency", WORD, W + "models.NAME.residency"),
        of(WORKER, "scheduler.models.NAME.pin_to_gpu", PIN, W + "models.NAME.residency"),
        of(WORKER, "scheduler.models.NAME.max_batch_size", TEXT, W + "models.NAME.max-batch-size"),
        refused(WORKER, "endpoints.host", FRONT),
        refused(WORKER, "endpoints.port", FRONT),
        refused(WORKER, "endpoints.metrics_port", FRONT),
        of(
            WORKER,
            "endpoints.max_concurrent_requests",
            LIMIT,
            W + "server.max-calls",
            "open calls of all connections; 0 leaves the default"),
        of(WORKER, "grpc.max_recv_msg_bytes", BYTES, W + "server.max-message-size"),
        refused(WORKER, "grpc.max_send_msg_bytes", ANSWERS));
  }

  private static List<Mapping> gateway() {
    String scheduling = G + "scheduling.";
    return List.of(
        of(GATEWAY, "listen.grpc", LISTEN, N + "ports.grpc", "and ports.address"),
        of(GATEWAY, "listen.metrics", LISTEN, N + "ports.metrics", "and ports.address"),
        refused(GATEWAY, "endpoints", TOLD).withVariable("WORKERS"),
        refused(GATEWAY, "metrics_endpoints", TOLD).withVariable("WORKER_METRICS"),
        refused(GATEWAY, "worker_names", TOLD),
        refused(
            GATEWAY,
            "worker_client.request_timeout_seconds",
            "deadlines are the callers'; remove it"),
        refused(
            GATEWAY,
            "worker_client.max_concurrent_streams",
            "a worker's own limit is roundhouse.worker.server.max-concurrent-streams"),
        of(GATEWAY, "grpc.max_recv_msg_bytes", BYTES, G + "server.max-message-size"),
        refused(GATEWAY, "grpc.max_send_msg_bytes", ANSWERS),
        refused(
            GATEWAY,
            "grpc.max_concurrent_requests_per_worker",
            "roundhouse.gateway.server.max-calls limits all calls, roundhouse.worker.server.max-calls a worker's"),
        refused(GATEWAY, "logging.level", "write logging.level.dev.roundhouse=info"),
        refused(GATEWAY, "logging.format", "not read there; write logging.pattern.console"),
        refused(
            GATEWAY, "tls.cert_file", "write spring.ssl.bundle and spring.grpc.server.ssl.bundle"),
        refused(
            GATEWAY, "tls.key_file", "write spring.ssl.bundle and spring.grpc.server.ssl.bundle"),
        refused(
            GATEWAY,
            "tls.client_ca_file",
            "write spring.ssl.bundle and spring.grpc.server.ssl.client-auth"),
        of(GATEWAY, "scheduling.mode", TEXT, scheduling + "mode"),
        of(GATEWAY, "scheduling.work_basis", TEXT, scheduling + "work-basis"),
        of(
            GATEWAY,
            "scheduling.rebalance_compute_seconds",
            TEXT,
            scheduling + "rebalance-compute-seconds"),
        of(
            GATEWAY,
            "scheduling.first_rebalance_compute_seconds",
            TEXT,
            scheduling + "first-rebalance-compute-seconds"),
        refused(GATEWAY, "scheduling.max_worker_share", "not read there; remove it"),
        of(GATEWAY, "scheduling.hysteresis", TEXT, scheduling + "hysteresis"),
        of(
            GATEWAY,
            "scheduling.ema_halflife_compute_seconds",
            TEXT,
            scheduling + "ema-halflife-compute-seconds"),
        of(GATEWAY, "scheduling.default_replicas", TEXT, scheduling + "default-replicas"),
        of(GATEWAY, "scheduling.routing_policy", TEXT, scheduling + "routing-policy"),
        of(GATEWAY, "scheduling.routing_fill_mode", TEXT, scheduling + "routing-fill-mode"),
        of(GATEWAY, "scheduling.routing_fill_factor", TEXT, scheduling + "routing-fill-factor"),
        of(GATEWAY, "scheduling.compaction_mode", TEXT, scheduling + "compaction-mode"),
        of(GATEWAY, "scheduling.compaction_interval", TEXT, scheduling + "compaction-interval"),
        of(
            GATEWAY,
            "scheduling.forbid_memory_oversubscription",
            FLAG,
            scheduling + "forbid-memory-oversubscription"),
        of(GATEWAY, "scheduling.models.NAME.replicas", TEXT, scheduling + "models.NAME.replicas"),
        of(GATEWAY, "scheduling.models.NAME.fill_mode", TEXT, scheduling + "models.NAME.fill-mode"),
        of(
            GATEWAY,
            "scheduling.models.NAME.fill_factor",
            TEXT,
            scheduling + "models.NAME.fill-factor"));
  }

  private static List<Mapping> variables() {
    return List.of(
        of(VARIABLE, "NODE_FILE", FILE, "", "/etc/reactantserver/node.yaml if that is there"),
        of(VARIABLE, "GATEWAY_FILE", FILE, "", "/etc/reactantserver/gateway.yml if that is there"),
        of(VARIABLE, "GPUS", TEXT, N + "devices.gpus", "wins over the configuration"),
        of(VARIABLE, "CPU_WORKERS", TEXT, N + "devices.cpu-workers"),
        of(VARIABLE, "ROLE", TEXT, N + "role"),
        of(VARIABLE, "SUPERVISOR_MAX_RESTARTS", TEXT, N + "restart.max-restarts"),
        of(VARIABLE, "GPU_RECLAIM_TIMEOUT_SECONDS", SECONDS, N + "devices.reclaim-timeout"),
        of(VARIABLE, "GPU_RECLAIM_MAX_USED_PERCENT", TEXT, N + "devices.reclaim-max-used-percent"),
        of(VARIABLE, "GATEWAY_HEALTH_INTERVAL_SECONDS", SECONDS, G + "health.interval"),
        refused(
            VARIABLE,
            "GATEWAY_STARTUP_WAIT_SECONDS",
            "the gateway waits for its workers for ever, and says that it is not ready"),
        refused(
            VARIABLE,
            "GATEWAY_WEDGE_EXIT_ROUNDS",
            "a worker that does not answer is left alone: roundhouse.gateway.ejection.failures"),
        refused(VARIABLE, "WORKSPACE_ROOT", "there is no workspace; remove it"),
        refused(VARIABLE, "WORKER_THREADS", "write roundhouse.worker.device.cpu.threads"),
        refused(VARIABLE, "WORKER_NAME", "workers are worker0, worker1 and so on; remove it"),
        refused(VARIABLE, "FANOUT_BYTES", "metas have no scratch memory; remove it"),
        refused(VARIABLE, "FANOUT_SLOTS", "metas have no scratch memory; remove it"),
        refused(VARIABLE, "META_CONCURRENCY", "set roundhouse.worker.hooks.meta-concurrency"));
  }
}
