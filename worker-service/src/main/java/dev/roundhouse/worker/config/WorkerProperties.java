package dev.roundhouse.worker.config;

import dev.roundhouse.platform.access.AccessProperties;
import dev.roundhouse.platform.audit.AuditProperties;
import dev.roundhouse.platform.config.TelemetryProperties;
import dev.roundhouse.platform.payload.PayloadLogProperties;
import jakarta.validation.Valid;
import java.util.Map;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * Configuration of a worker.
 *
 * @param repository Where models are found.
 * @param readiness When the worker says that it is ready.
 * @param device What runs them.
 * @param residency Which models' weights are on the device.
 * @param runtime How models are computed.
 * @param scheduler Which model runs next.
 * @param compile How programs are compiled.
 * @param hooks Whose code is run before and behind programs, and what it may take.
 * @param server How the worker presents itself.
 * @param access Who may do what.
 * @param audit Where it is written down who changed what.
 * @param tenants Who shares the device, by names that identities are given. The device is shared
 *     out among tenants by weight, and a tenant's part among its models; each has queues of its
 *     own. `default` are callers without a tenant. Without any, nobody is told apart.
 * @param sharedMemory Whether clients may have tensors read from and written to memory of this
 *     machine.
 * @param stream How tensor streams are served.
 * @param tee Which requests are copied for those who learn from them ([tee.md](tee.md)).
 * @param payloadLog Which requests and answers are sent to a collector
 *     ([payload-log.md](payload-log.md)).
 * @param transports What is said of transports that others have written, by their names
 *     ([transports.md](transports.md)).
 * @param v1 The v1 protocol, that of the TensorRT Inference Server ([v1.md](v1.md)).
 * @param shutdown How it stops.
 * @param watchdog When it gives itself up.
 * @param trace Which requests are traced.
 * @param telemetry Which requests have spans, and where those go ([tracing.md](tracing.md)).
 * @param metrics What a scrape has.
 * @param models What the operator wants of single models, by model name; wins over the manifest.
 *     Metas and ensembles take `version-policy` alone, and are not loaded with any of the others:
 *     those are for the models that they call.
 */
@Validated
@ConfigurationProperties(WorkerProperties.PREFIX)
public record WorkerProperties(
    @Valid @DefaultValue RepositoryProperties repository,
    @Valid @DefaultValue ReadinessProperties readiness,
    @Valid @DefaultValue DeviceProperties device,
    @Valid @DefaultValue ResidencyProperties residency,
    @Valid @DefaultValue RuntimeProperties runtime,
    @Valid @DefaultValue SchedulerProperties scheduler,
    @Valid @DefaultValue CompileProperties compile,
    @Valid @DefaultValue HooksProperties hooks,
    @Valid @DefaultValue ServerProperties server,
    @Valid @DefaultValue AccessProperties access,
    @Valid @DefaultValue AuditProperties audit,
    @DefaultValue Map<String, @Valid TenantProperties> tenants,
    @Valid @DefaultValue SharedMemoryProperties sharedMemory,
    @Valid @DefaultValue StreamProperties stream,
    @Valid @DefaultValue TeeProperties tee,
    @Valid @DefaultValue PayloadLogProperties payloadLog,
    @DefaultValue Map<String, @Valid TransportProperties> transports,
    @Valid @DefaultValue V1Properties v1,
    @Valid @DefaultValue ShutdownProperties shutdown,
    @Valid @DefaultValue WatchdogProperties watchdog,
    @Valid @DefaultValue TraceProperties trace,
    @Valid @DefaultValue TelemetryProperties telemetry,
    @Valid @DefaultValue MetricsProperties metrics,
    @DefaultValue Map<String, @Valid ModelProperties> models) {
  public static final String PREFIX = "roundhouse.worker";

  public WorkerProperties {
    models = Map.copyOf(models);
    tenants = Map.copyOf(tenants);
    transports = Map.copyOf(transports);
  }
}
