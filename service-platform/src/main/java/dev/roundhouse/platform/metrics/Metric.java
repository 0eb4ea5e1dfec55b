package dev.roundhouse.platform.metrics;

import static dev.roundhouse.platform.metrics.Metric.Kind.COUNTER;
import static dev.roundhouse.platform.metrics.Metric.Kind.GAUGE;
import static dev.roundhouse.platform.metrics.Metric.Kind.HISTOGRAM;
import static dev.roundhouse.platform.metrics.Metric.Kind.UNTYPED;
import static dev.roundhouse.platform.metrics.Metric.Role.GATEWAY;
import static dev.roundhouse.platform.metrics.Metric.Role.NODE;
import static dev.roundhouse.platform.metrics.Metric.Role.WORKER;

import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * Every metric of our own: {@code docs/metrics.md} is written from here. Libraries add theirs (of
 * the JVM, of Tomcat, of HTTP requests), under their own names.
 */
public enum Metric {
  // --- a worker's models, each

  REQUESTS_ACCEPTED(
      of(WORKER),
      COUNTER,
      "roundhouse_requests_accepted_total",
      "Requests admitted and queued",
      "`ModelCounters.enter`",
      "model"),
  REQUESTS_COMPLETED(
      of(WORKER),
      COUNTER,
      "roundhouse_requests_completed_total",
      "Accepted requests that were answered",
      "`Accounting.complete`",
      "model"),
  REQUESTS_FAILED(
      of(WORKER),
      COUNTER,
      "roundhouse_requests_failed_total",
      "Accepted requests that ended in an error of the model or the device",
      "`Accounting.end`",
      "model"),
  REQUESTS_CANCELLED(
      of(WORKER),
      COUNTER,
      "roundhouse_requests_cancelled_total",
      "Accepted requests taken back by their caller",
      "`Accounting.end`",
      "model"),
  REQUESTS_SHED(
      of(WORKER),
      COUNTER,
      "roundhouse_requests_shed_total",
      "Accepted requests dropped before they ran",
      "`Accounting.end`",
      "model",
      "reason"),
  REQUESTS_REFUSED(
      of(WORKER),
      COUNTER,
      "roundhouse_requests_refused_total",
      "Requests turned away before they were queued",
      "`ModelTotals.countRefused`",
      "model",
      "reason"),
  REQUESTS_WAITING(
      of(WORKER),
      GAUGE,
      "roundhouse_requests_waiting",
      "Requests that are accepted and have not begun to run",
      "`ModelCounters.waiting`",
      "model"),
  QUEUE_OLDEST_WAIT(
      of(WORKER),
      GAUGE,
      "roundhouse_queue_oldest_wait_seconds",
      "How long the request at the front of the queue has waited",
      "`Lanes.noteFront`",
      "model"),
  QUEUE_WAIT(
      of(WORKER),
      COUNTER,
      "roundhouse_queue_wait_seconds_total",
      "Time that answered requests had waited, all together",
      "`Delivery.complete`",
      "model"),
  COMPUTE(
      of(WORKER),
      COUNTER,
      "roundhouse_compute_seconds_total",
      "Device time of its runs",
      "`Pipeline.count`",
      "model"),
  EXECUTIONS(
      of(WORKER),
      COUNTER,
      "roundhouse_executions_total",
      "Runs on the device",
      "`Pipeline.count`",
      "model"),
  ROWS(
      of(WORKER),
      COUNTER,
      "roundhouse_rows_total",
      "Rows of requests in those runs",
      "`Pipeline.count`",
      "model"),
  ROWS_PADDING(
      of(WORKER),
      COUNTER,
      "roundhouse_rows_padding_total",
      "Rows that filled up a compiled batch size, besides",
      "`Pipeline.count`",
      "model"),
  ROWS_IN_PLACE(
      of(WORKER),
      COUNTER,
      "roundhouse_rows_in_place_total",
      "Rows of requests that a run read where they were received: tensor streams",
      "`Pipeline.count`",
      "model"),
  POSITIONS(
      of(WORKER),
      COUNTER,
      "roundhouse_positions_total",
      "Elements of the first padded input in rows of requests, padding included; 0 for a model without",
      "`Pipeline.count`",
      "model"),
  POSITIONS_PADDING(
      of(WORKER),
      COUNTER,
      "roundhouse_positions_padding_total",
      "Those of them that fill up a compiled shape",
      "`Pipeline.count`",
      "model"),
  INPUTS(
      of(WORKER),
      COUNTER,
      "roundhouse_inputs_bytes_total",
      "Inputs that went to the device for runs, padding included",
      "`Pipeline.count`",
      "model"),
  OUTPUTS(
      of(WORKER),
      COUNTER,
      "roundhouse_outputs_bytes_total",
      "Outputs that the host read",
      "`Delivery.count`",
      "model"),
  WEIGHTS_LOADS(
      of(WORKER),
      COUNTER,
      "roundhouse_weights_loads_total",
      "Times that its weights were brought to the device",
      "`WeightMover`",
      "model"),
  WEIGHTS_EVICTIONS(
      of(WORKER),
      COUNTER,
      "roundhouse_weights_evictions_total",
      "Times that its weights left for others",
      "`WeightEvictions`",
      "model"),
  WEIGHTS_LOAD(
      of(WORKER),
      COUNTER,
      "roundhouse_weights_load_seconds_total",
      "Time that loads of its weights had the link or shared it",
      "`WeightMover`",
      "model"),

  REQUEST_WAIT(
      of(WORKER),
      HISTOGRAM,
      "roundhouse_request_wait_seconds",
      "From the acceptance of answered requests until their batches were assembled; of a model that calls others, of what its own programs ran",
      "`InferenceTally`, for each batch",
      "model"),
  REQUEST_TIME(
      of(WORKER),
      HISTOGRAM,
      "roundhouse_request_seconds",
      "From the acceptance of answered requests to their answers",
      "`InferenceTally`, for each batch",
      "model"),
  RUN_TIME(
      of(WORKER),
      HISTOGRAM,
      "roundhouse_run_seconds",
      "Device time of runs that answered somebody",
      "`InferenceTally`, for each batch",
      "model"),
  RUN_ROWS(
      of(WORKER),
      HISTOGRAM,
      "roundhouse_run_rows",
      "Rows of requests in those runs",
      "`InferenceTally`, for each batch",
      "model"),
  MODEL_DEVICE(
      of(WORKER),
      GAUGE,
      "roundhouse_model_device_bytes",
      "Its weights on the device",
      "`WeightCache`",
      "model"),
  MODEL_PLACE(
      of(WORKER),
      GAUGE,
      "roundhouse_model_place",
      "1, for where its weights are: `device`, `host`, or `file` when they are read again for a load; no series of a model without programs of its own",
      "`WeightCache`",
      "model",
      "place"),
  MODEL_WEIGHT(
      of(WORKER),
      GAUGE,
      "roundhouse_model_weight",
      "Its weight relative to other models",
      "`Lanes`; asked",
      "model"),
  MODEL_SHARE_DUE(
      of(WORKER),
      GAUGE,
      "roundhouse_model_share_due",
      "Share of the device that is due to it among the models that have something to run, 0 to 1; no series while it has nothing, or under `edf` and `fifo`",
      "`Discipline.standing`; asked",
      "model"),
  MODEL_DEFICIT(
      of(WORKER),
      GAUGE,
      "roundhouse_model_deficit",
      "How far it is behind that (above 0) or ahead (below 0): under `fair` as a fraction of recent device time, so that due less deficit is what it had; under `virtual-time` in device seconds",
      "`Discipline.standing`; asked",
      "model"),
  MODEL_PINNED(
      of(WORKER),
      GAUGE,
      "roundhouse_model_pinned",
      "1 when its weights never leave the device",
      "`WeightCache`; asked",
      "model"),
  MODEL_HELD(
      of(WORKER),
      GAUGE,
      "roundhouse_model_held",
      "1 while its batch waits for more requests (`max-queue-delay`)",
      "`Lanes`; asked",
      "model"),
  MODEL_NEXT_USE(
      of(WORKER),
      GAUGE,
      "roundhouse_model_next_use_seconds",
      "Until it is expected to be used again; no series when nothing tells",
      "the eviction policy; asked",
      "model"),

  // --- a worker

  MODELS(
      of(WORKER),
      GAUGE,
      "roundhouse_models",
      "Models by state: `loading`, `ready`, `failed`, `unloading` or `unloaded`",
      "`ModelRegistry`",
      "state"),
  MODELS_STALE(
      of(WORKER),
      GAUGE,
      "roundhouse_models_stale",
      "Models that serve although newer files of them could not be loaded; `/actuator/health` names them with the reason",
      "`ModelRegistry`"),
  REQUESTS_OPEN(
      of(WORKER),
      GAUGE,
      "roundhouse_requests_open",
      "Accepted requests that have not ended",
      "`ModelCounters.open`"),
  SEQUENCES(
      of(WORKER),
      GAUGE,
      "roundhouse_sequences",
      "Sequences whose state is kept between requests",
      "`Sequences`"),
  SEQUENCES_HELD(
      of(WORKER),
      GAUGE,
      "roundhouse_sequences_held_bytes",
      "Memory for requests that open sequences hold, with their state",
      "`Sequences`"),
  SEQUENCES_LIMIT(
      of(WORKER),
      GAUGE,
      "roundhouse_sequences_limit_bytes",
      "Memory for requests that they may hold, a quarter of it; sequences that begin beyond that are refused",
      "`Sequences`"),
  WEIGHTS_RESIDENT(
      of(WORKER),
      GAUGE,
      "roundhouse_weights_resident_bytes",
      "Weights on the device",
      "`WeightCache`"),
  DISPATCH_CYCLE_LONGEST(
      of(WORKER),
      GAUGE,
      "roundhouse_dispatch_cycle_longest_seconds",
      "Longest time between two choices of the dispatch thread while there was work, with what the device did on that thread, in the last half minute to minute",
      "`LongestCycle`"),
  DEVICE_BUSY(
      of(WORKER),
      COUNTER,
      "roundhouse_device_busy_seconds_total",
      "Time in which something ran on the device, warming up included",
      "`DeviceTime`"),
  DEVICE_IDLE(
      of(WORKER),
      COUNTER,
      "roundhouse_device_idle_seconds_total",
      "Time in which nothing ran: `no-requests`; `weights` were awaited or room was made; `held` for larger batches (`max-queue-delay`); `answers` of earlier runs were being read and there was no room for another batch; `dispatch`, the host made a batch up or gave answers",
      "`DeviceTime`",
      "reason"),
  TENANT_WEIGHT(
      of(WORKER),
      GAUGE,
      "roundhouse_tenant_weight",
      "Part of the device that a tenant is due beside others that have something to run",
      "configuration",
      "tenant"),
  TENANT_DEVICE(
      of(WORKER),
      COUNTER,
      "roundhouse_tenant_device_seconds_total",
      "Device time of a tenant's rows; of a batch with rows of several, a part to each",
      "`TenantShare`; asked",
      "tenant"),
  BATCH_SLOTS_USED(
      of(WORKER),
      GAUGE,
      "roundhouse_batch_slots_in_use",
      "Batches that are made up, run or are answered",
      "`BatchSlots`; asked"),
  BATCH_SLOTS(
      of(WORKER),
      GAUGE,
      "roundhouse_batch_slots",
      "Batches that may be so at once",
      "`BatchSlots`"),
  LINK_BUSY(
      of(WORKER),
      COUNTER,
      "roundhouse_link_busy_seconds_total",
      "Time in which weights were on their way to the device, however many at once",
      "`LinkTime`"),
  WEIGHTS_BUDGET(
      of(WORKER),
      GAUGE,
      "roundhouse_weights_budget_bytes",
      "What weights may take on the device; no series without a limit",
      "`WeightCache`; asked"),
  WEIGHTS_PINNED(
      of(WORKER),
      GAUGE,
      "roundhouse_weights_pinned_bytes",
      "Weights that never leave the device, wherever they are",
      "`WeightCache`; asked"),
  WEIGHTS_LOADING(
      of(WORKER),
      GAUGE,
      "roundhouse_weights_loading_bytes",
      "Weights on the link, on their way to the device",
      "`WeightCache`; asked"),
  WEIGHTS_SCRATCH(
      of(WORKER),
      GAUGE,
      "roundhouse_weights_scratch_bytes",
      "Most device memory that the runs of one model take besides",
      "`WeightCache`; asked"),
  HOST_WEIGHTS_HELD(
      of(WORKER),
      GAUGE,
      "roundhouse_host_weights_held_bytes",
      "Weights in host memory of this process",
      "`HostWeightStore`"),
  HOST_WEIGHTS_READS(
      of(WORKER),
      COUNTER,
      "roundhouse_host_weights_reads_total",
      "Loads for which files were read again",
      "`HostWeightStore`"),
  HOST_WEIGHTS_READ(
      of(WORKER),
      COUNTER,
      "roundhouse_host_weights_read_bytes_total",
      "What was read for them",
      "`HostWeightStore`"),
  HOST_WEIGHTS_EVICTIONS(
      of(WORKER),
      COUNTER,
      "roundhouse_host_weights_evictions_total",
      "Times that weights left host memory for others",
      "`HostWeightStore`"),
  DISPATCH_UNANSWERED(
      of(WORKER),
      COUNTER,
      "roundhouse_dispatch_unanswered_total",
      "Scrapes to which the dispatch thread did not answer within 0.2 s",
      "`DispatchSeries`"),
  MEMORY_HELD(
      of(WORKER),
      GAUGE,
      "roundhouse_memory_held_bytes",
      "Inputs of accepted requests, and answers until they are written",
      "`ByteBudget`"),
  MEMORY_LIMIT(
      of(WORKER),
      GAUGE,
      "roundhouse_memory_limit_bytes",
      "What inputs and answers together may hold: `scheduler.max-queued-bytes`",
      "configuration"),
  PROGRAMS_COMPILED(
      of(WORKER),
      COUNTER,
      "roundhouse_programs_compiled_total",
      "Programs that were compiled",
      "`CompileCounts`"),
  PROGRAMS_FAILED(
      of(WORKER),
      COUNTER,
      "roundhouse_programs_failed_total",
      "Programs that did not compile, or over which the compiler ended",
      "`CompileCounts`"),
  PROGRAMS_CACHE_HITS(
      of(WORKER),
      COUNTER,
      "roundhouse_programs_cache_hits_total",
      "Programs loaded from the cache; no series without a cache",
      "`CompileCounts`"),
  PROGRAMS_CACHE_MISSES(
      of(WORKER),
      COUNTER,
      "roundhouse_programs_cache_misses_total",
      "Programs that the cache did not have",
      "`CompileCounts`"),
  PROGRAMS_CACHE_REBUILT(
      of(WORKER),
      COUNTER,
      "roundhouse_programs_cache_rebuilt_total",
      "Entries of the cache that were of no use, removed and compiled again",
      "`CompileCounts`"),
  PROGRAMS_CACHE(
      of(WORKER),
      GAUGE,
      "roundhouse_programs_cache_bytes",
      "Compiled programs in the cache, as last counted",
      "`ExecutableCache`"),
  DEVICE_MEMORY_IN_USE(
      of(WORKER),
      GAUGE,
      "roundhouse_device_memory_in_use_bytes",
      "Device memory that is in use; no series of what the device does not count (the CPU plugin counts none)",
      "the PJRT plugin"),
  DEVICE_MEMORY_LIMIT(
      of(WORKER),
      GAUGE,
      "roundhouse_device_memory_limit_bytes",
      "Device memory that there is for use",
      "the PJRT plugin"),
  DEVICE_MEMORY_PEAK(
      of(WORKER),
      GAUGE,
      "roundhouse_device_memory_peak_bytes",
      "Most device memory that was ever in use",
      "the PJRT plugin"),
  DEVICE_MEMORY_LARGEST_FREE_BLOCK(
      of(WORKER),
      GAUGE,
      "roundhouse_device_memory_largest_free_block_bytes",
      "Most device memory that one allocation can get without anything being freed",
      "the PJRT plugin"),
  SHARED_MEMORY_REGIONS(
      of(WORKER),
      GAUGE,
      "roundhouse_shared_memory_regions",
      "Regions of shared memory that clients have registered, by kind: `system` or `cuda`",
      "`RegionTable`",
      "kind"),
  SHARED_MEMORY_LIMIT(
      of(WORKER),
      GAUGE,
      "roundhouse_shared_memory_regions_limit",
      "Regions that may be registered, of both kinds together: `shared-memory.max-regions`",
      "configuration"),
  SHARED_MEMORY(
      of(WORKER),
      GAUGE,
      "roundhouse_shared_memory_bytes",
      "What those regions have, by kind",
      "`RegionTable`",
      "kind"),
  TRACES_WRITTEN(
      of(WORKER),
      COUNTER,
      "roundhouse_traces_written_total",
      "Traces of requests that are in files",
      "`TraceWriter`"),
  TRACES_DROPPED(
      of(WORKER),
      COUNTER,
      "roundhouse_traces_dropped_total",
      "Traces that were lost: too many at once, or no file could take them",
      "`TraceWriter`"),

  SPANS_EXPORTED(
      of(WORKER, GATEWAY),
      COUNTER,
      "roundhouse_otlp_requests_exported_total",
      "Requests whose spans an OpenTelemetry collector has taken ([tracing.md](tracing.md))",
      "`SpanSender`"),
  SPANS_DROPPED(
      of(WORKER, GATEWAY),
      COUNTER,
      "roundhouse_otlp_requests_dropped_total",
      "Requests whose spans were lost: too many at once, or no collector took them",
      "`SpanSender`"),

  PAYLOADS_SENT(
      of(WORKER, GATEWAY),
      COUNTER,
      "roundhouse_payloads_sent_total",
      "Copies of requests and answers that a collector has taken ([payload-log.md](payload-log.md))",
      "`PayloadLog`"),
  PAYLOADS_RETRIED(
      of(WORKER, GATEWAY),
      COUNTER,
      "roundhouse_payloads_retried_total",
      "Attempts to send one of them after the first",
      "`PayloadLog`"),
  PAYLOADS_DROPPED(
      of(WORKER, GATEWAY),
      COUNTER,
      "roundhouse_payloads_dropped_total",
      "Copies of requests and answers that were lost, by `reason`: `full`, `large`, `unreached`, `refused`, `failed`, `stopped`",
      "`PayloadLog`",
      "reason"),
  PAYLOADS_WAITING(
      of(WORKER, GATEWAY),
      GAUGE,
      "roundhouse_payloads_waiting_bytes",
      "Copies of requests and answers that wait to be sent, or are being sent",
      "`PayloadLog`"),

  ACCESS_REFUSED(
      of(WORKER, GATEWAY, NODE),
      COUNTER,
      "roundhouse_access_refused_total",
      "Calls and requests whose callers may not ([security.md](security.md)), by `reason`: `unauthenticated`, `denied`, `quota`",
      "`Access`",
      "reason"),

  // --- a worker's ports

  GRPC_CONNECTIONS_OPEN(
      of(WORKER),
      GAUGE,
      "roundhouse_grpc_connections_open",
      "gRPC connections, those in their handshake included",
      "`PortLoad`"),
  GRPC_CONNECTIONS_LIMIT(
      of(WORKER),
      GAUGE,
      "roundhouse_grpc_connections_limit",
      "gRPC connections that there may be, `server.max-connections`; further ones are closed",
      "configuration"),
  GRPC_CALLS_OPEN(
      of(WORKER),
      GAUGE,
      "roundhouse_grpc_calls_open",
      "gRPC calls that have not ended, of any method; a stream is one",
      "`PortLoad`"),
  GRPC_STREAMS_OPEN(
      of(WORKER),
      GAUGE,
      "roundhouse_grpc_streams_open",
      "Those of them that are streams of inference (ModelStreamInfer)",
      "`InferCalls`"),
  GRPC_CALLS_LIMIT(
      of(WORKER),
      GAUGE,
      "roundhouse_grpc_calls_limit",
      "gRPC calls that there may be, `server.max-calls`; further ones are refused",
      "configuration"),
  GRPC_STALLED(
      of(WORKER),
      COUNTER,
      "roundhouse_grpc_stalled_total",
      "gRPC calls and connections that were ended because their client stopped sending or reading",
      "`PortLoad`"),
  GRPC_OTHER_PROTOCOL(
      of(WORKER),
      COUNTER,
      "roundhouse_grpc_other_protocol_total",
      "Connections to the gRPC port that were ended because their client did not speak HTTP/2: HTTP/1.1, TLS on a port without it, a line of a proxy",
      "`PortLoad`"),
  GRPC_RECEIVING(
      of(WORKER),
      GAUGE,
      "roundhouse_grpc_receiving_bytes",
      "gRPC messages that are arriving and did not come in one frame; part of `roundhouse_memory_held_bytes`",
      "`PeerMemory`"),
  STREAM_CONNECTIONS_OPEN(
      of(WORKER),
      GAUGE,
      "roundhouse_stream_connections_open",
      "Connections of tensor streams ([tstream.md](tstream.md)), those in their handshake included",
      "`StreamLoad`"),
  STREAM_MESSAGES(
      of(WORKER),
      COUNTER,
      "roundhouse_stream_messages_total",
      "Messages of tensor streams that were taken",
      "`StreamLoad`"),
  STREAM_MESSAGES_OPEN(
      of(WORKER),
      GAUGE,
      "roundhouse_stream_messages_open",
      "Messages of tensor streams by `stage`: `receiving` (begun, not whole), and of the windows in use `waiting`, `running` (in a batch) and `sending` (over, the result not sent)",
      "`StreamStages`",
      "stage"),
  STREAM_REQUESTS(
      of(WORKER),
      COUNTER,
      "roundhouse_stream_requests_total",
      "Requests of models that messages of tensor streams were: several may be one",
      "`StreamLoad`"),
  STREAM_HELLOS_REFUSED(
      of(WORKER),
      COUNTER,
      "roundhouse_stream_hellos_refused_total",
      "Tensor streams that were refused, by the `status` of the reply",
      "`StreamLoad`",
      "status"),
  STREAM_ENDED(
      of(WORKER),
      COUNTER,
      "roundhouse_stream_ended_total",
      "Tensor streams that the server ended, by `reason`: `plain_text`, `tls`, `handshake`, `window`, `truncated`, `stalled`, `unread`, `replaced`, `failed`",
      "`StreamLoad`",
      "reason"),

  TEE_ROWS_STORED(
      of(WORKER),
      GAUGE,
      "roundhouse_tee_rows_stored",
      "Rows in the rings of the tee ([tee.md](tee.md)): taken, and their readers are not done with them",
      "`Ring`",
      "model"),
  TEE_ROWS_LIMIT(
      of(WORKER),
      GAUGE,
      "roundhouse_tee_rows_limit",
      "Rows that the model's ring has room for; 0 while nobody reads",
      "`Ring`",
      "model"),
  TEE_ROWS_TAKEN(
      of(WORKER),
      COUNTER,
      "roundhouse_tee_rows_taken_total",
      "Rows that were copied: as many as were delivered, were discarded and are stored",
      "`TeeCounts`",
      "model"),
  TEE_ROWS_DELIVERED(
      of(WORKER),
      COUNTER,
      "roundhouse_tee_rows_delivered_total",
      "Rows that every reader is done with: acknowledged, and written to a file",
      "`TeeCounts`",
      "model"),
  TEE_ROWS_DROPPED(
      of(WORKER),
      COUNTER,
      "roundhouse_tee_rows_dropped_total",
      "Rows of chosen requests that were not copied, by `reason`: `full`, `busy`, `preparing`, `memory`, `not_fixed`, `too_large`, `other_tensors`, `other_version`, `unreadable`, `failed`",
      "`TeeCounts`",
      "model",
      "reason"),
  TEE_ROWS_DISCARDED(
      of(WORKER),
      COUNTER,
      "roundhouse_tee_rows_discarded_total",
      "Rows that were copied and never came out, by `reason`: `replaced`, `unread`, `spoilt`",
      "`TeeCounts`",
      "model",
      "reason"),
  TEE_BATCHES_FILLED(
      of(WORKER),
      COUNTER,
      "roundhouse_tee_batches_filled_total",
      "Batches that became full",
      "`TeeCounts`",
      "model"),
  TEE_BATCHES_DELIVERED(
      of(WORKER),
      COUNTER,
      "roundhouse_tee_batches_delivered_total",
      "Batches that every reader is done with",
      "`TeeCounts`",
      "model"),
  TEE_DWELL(
      of(WORKER),
      COUNTER,
      "roundhouse_tee_dwell_seconds_total",
      "From when a batch was full until every reader was done with it, summed over `roundhouse_tee_batches_delivered_total`",
      "`TeeCounts`",
      "model"),
  TEE_MEMORY(
      of(WORKER),
      GAUGE,
      "roundhouse_tee_memory_bytes",
      "Memory of all rings of the tee",
      "`TeeMemory`"),
  TEE_MEMORY_LIMIT(
      of(WORKER),
      GAUGE,
      "roundhouse_tee_memory_limit_bytes",
      "The most of it: `tee.max-memory`",
      "`TeeMemory`"),
  TEE_FILES_WRITTEN(
      of(WORKER),
      COUNTER,
      "roundhouse_tee_files_written_total",
      "Batches that were written to a file",
      "`BatchFiles`"),
  TEE_FILES_FAILED(
      of(WORKER),
      COUNTER,
      "roundhouse_tee_files_failed_total",
      "Batches that could not be written to a file",
      "`BatchFiles`"),
  TEE_LEARNERS(
      of(WORKER), GAUGE, "roundhouse_tee_learners", "Learners that are connected", "`LearnerLoad`"),
  TEE_LEARNERS_REFUSED(
      of(WORKER),
      COUNTER,
      "roundhouse_tee_learners_refused_total",
      "Learners that were refused, by the `status` of the reply",
      "`LearnerLoad`",
      "status"),
  TEE_LEARNERS_ENDED(
      of(WORKER),
      COUNTER,
      "roundhouse_tee_learners_ended_total",
      "Learners that the worker ended, by `reason`: `handshake`, `unacknowledged`, `protocol`, `replaced`, `failed`",
      "`LearnerLoad`",
      "reason"),
  V1_CONNECTIONS_OPEN(
      of(WORKER),
      GAUGE,
      "roundhouse_v1_connections_open",
      "Connections to a port of v1's own ([v1.md](v1.md)), those in their handshake included",
      "`PortLoad`",
      "transport"),
  V1_CONNECTIONS_LIMIT(
      of(WORKER),
      GAUGE,
      "roundhouse_v1_connections_limit",
      "Connections that there may be to it: as many as to the other port of gRPC, or of HTTP",
      "configuration",
      "transport"),
  V1_CALLS_OPEN(
      of(WORKER),
      GAUGE,
      "roundhouse_v1_calls_open",
      "Calls or requests to it that have not ended",
      "`PortLoad`",
      "transport"),
  V1_STALLED(
      of(WORKER),
      COUNTER,
      "roundhouse_v1_stalled_total",
      "Calls, requests and connections to it that were ended because their client stopped sending or reading",
      "`PortLoad`",
      "transport"),
  V1_OTHER_PROTOCOL(
      of(WORKER),
      COUNTER,
      "roundhouse_v1_other_protocol_total",
      "Connections to that of gRPC that were ended because their client did not speak HTTP/2",
      "`PortLoad`",
      "transport"),
  TRANSPORT_CONNECTIONS_OPEN(
      of(WORKER),
      GAUGE,
      "roundhouse_transport_connections_open",
      "Connections of a transport that was added ([transports.md](transports.md))",
      "`TransportCounts`",
      "transport"),
  TRANSPORT_REQUESTS(
      of(WORKER),
      COUNTER,
      "roundhouse_transport_requests_total",
      "Requests that came by an added transport",
      "`TransportCounts`",
      "transport"),
  TRANSPORT_REQUESTS_OPEN(
      of(WORKER),
      GAUGE,
      "roundhouse_transport_requests_open",
      "Those of them that have not ended",
      "`TransportCounts`",
      "transport"),
  TRANSPORT_EVENTS(
      of(WORKER),
      COUNTER,
      "roundhouse_transport_events_total",
      "What an added transport counts itself, by its own names",
      "`TransportMeters`",
      "transport",
      "event"),
  TRANSPORT_LEVEL(
      of(WORKER),
      GAUGE,
      "roundhouse_transport_level",
      "What an added transport measures itself, by its own names",
      "`TransportMeters`",
      "transport",
      "level"),
  HTTP_CONNECTIONS_OPEN(
      of(WORKER),
      GAUGE,
      "roundhouse_http_connections_open",
      "HTTP connections, those in their handshake included",
      "`PortLoad`"),
  HTTP_CONNECTIONS_LIMIT(
      of(WORKER),
      GAUGE,
      "roundhouse_http_connections_limit",
      "HTTP connections that there may be, `server.http.max-connections` or as many as there are file descriptors for; for further ones those that are idle are closed",
      "configuration"),
  HTTP_INFER_OPEN(
      of(WORKER),
      GAUGE,
      "roundhouse_http_infer_open",
      "Requests over HTTP that have begun to arrive and are not answered, control requests too",
      "`PortLoad`"),
  HTTP_STALLED(
      of(WORKER),
      COUNTER,
      "roundhouse_http_stalled_total",
      "HTTP requests and connections that were ended because their client stopped sending or reading",
      "`PortLoad`"),
  HTTP_RECEIVING(
      of(WORKER),
      GAUGE,
      "roundhouse_http_receiving_bytes",
      "Inference requests over HTTP until the engine has taken them, as far as they have memory; part of `roundhouse_memory_held_bytes`",
      "`PeerMemory`"),
  PEER_MEMORY(
      of(WORKER, GATEWAY),
      GAUGE,
      "roundhouse_peer_memory_bytes",
      "Memory that connections make the server keep: `connection`, `call`, `message`, `body`, `inflated`, `answer`, `refusal` ([overload.md](overload.md))",
      "`PeerMemory`",
      "kind"),
  PEER_MEMORY_REFUSED(
      of(WORKER, GATEWAY),
      COUNTER,
      "roundhouse_peer_memory_refused_total",
      "Connections, calls and messages for which there was no memory",
      "`PeerMemory`",
      "kind"),
  PEER_MEMORY_HELD(
      of(WORKER, GATEWAY),
      GAUGE,
      "roundhouse_peer_memory_held_bytes",
      "Memory that peers hold altogether, requests that wait or run included",
      "`PeerMemory`"),
  PEER_MEMORY_LIMIT(
      of(WORKER, GATEWAY),
      GAUGE,
      "roundhouse_peer_memory_limit_bytes",
      "Memory that peers may hold altogether",
      "`PeerMemory`"),
  PEER_MEMORY_RELIEVED(
      of(WORKER, GATEWAY),
      COUNTER,
      "roundhouse_peer_memory_relieved_total",
      "How often a connection that held much was asked to end what does not get on, because others were refused",
      "`PeerMemory`"),

  // --- a worker's, by Triton's names

  NV_SUCCESS(
      of(WORKER),
      UNTYPED,
      "nv_inference_request_success",
      "Answered requests, as `roundhouse_requests_completed_total`",
      "as `ModelStatistics` counts",
      "model",
      "version"),
  NV_FAILURE(
      of(WORKER),
      UNTYPED,
      "nv_inference_request_failure",
      "Accepted requests without an answer: `REJECTED` as `roundhouse_requests_shed_total`, `CANCELED` as `roundhouse_requests_cancelled_total`, `BACKEND` as `roundhouse_requests_failed_total`; `OTHER` is 0. Refused ones are in `roundhouse_requests_refused_total` only",
      "`Accounting.end`",
      "model",
      "version",
      "reason"),
  NV_COUNT(
      of(WORKER),
      UNTYPED,
      "nv_inference_count",
      "Rows of requests in runs that answered somebody, as `roundhouse_run_rows_sum`",
      "as `ModelStatistics` counts",
      "model",
      "version"),
  NV_EXEC_COUNT(
      of(WORKER),
      UNTYPED,
      "nv_inference_exec_count",
      "Runs that answered somebody, as `roundhouse_run_rows_count`",
      "as `ModelStatistics` counts",
      "model",
      "version"),
  NV_REQUEST_DURATION(
      of(WORKER),
      UNTYPED,
      "nv_inference_request_duration_us",
      "From acceptance to answer, summed over answered requests, as `roundhouse_request_seconds_sum`",
      "as `ModelStatistics` counts",
      "model",
      "version"),
  NV_QUEUE_DURATION(
      of(WORKER),
      UNTYPED,
      "nv_inference_queue_duration_us",
      "Of it, waiting, summed over answered requests, as `roundhouse_queue_wait_seconds_total`",
      "as `ModelStatistics` counts",
      "model",
      "version"),
  NV_COMPUTE_INPUT_DURATION(
      of(WORKER),
      UNTYPED,
      "nv_inference_compute_input_duration_us",
      "Of it, assembling and uploading the batch, summed over answered requests",
      "as `ModelStatistics` counts",
      "model",
      "version"),
  NV_COMPUTE_INFER_DURATION(
      of(WORKER),
      UNTYPED,
      "nv_inference_compute_infer_duration_us",
      "Of it, the run, summed over answered requests",
      "as `ModelStatistics` counts",
      "model",
      "version"),
  NV_COMPUTE_OUTPUT_DURATION(
      of(WORKER),
      UNTYPED,
      "nv_inference_compute_output_duration_us",
      "Of it, cutting the answer out of the outputs, summed over answered requests",
      "as `ModelStatistics` counts",
      "model",
      "version"),
  NV_PENDING(
      of(WORKER),
      GAUGE,
      "nv_inference_pending_request_count",
      "As `roundhouse_requests_waiting`",
      "`ModelCounters.waiting`",
      "model",
      "version"),
  NV_LOAD_DURATION(
      of(WORKER),
      GAUGE,
      "nv_model_load_duration_secs",
      "From the start of its load until it was ready",
      "`ModelStatus`",
      "model",
      "version"),
  NV_CPU_UTILIZATION(
      of(WORKER),
      GAUGE,
      "nv_cpu_utilization",
      "Of the machine, or the container, 0 to 1",
      "the JVM"),
  NV_CPU_MEMORY_TOTAL(
      of(WORKER),
      GAUGE,
      "nv_cpu_memory_total_bytes",
      "Of the machine, or the container",
      "the JVM"),
  NV_CPU_MEMORY_USED(
      of(WORKER), GAUGE, "nv_cpu_memory_used_bytes", "Of it, what is not free", "the JVM"),

  // --- a worker's, by ReactantServer's names

  UP_REQUESTS(
      of(WORKER),
      COUNTER,
      "worker_requests_total",
      "Requests by how they ended: `ok`, `error`, `shed`, `cancelled`, `refused`, as `roundhouse_requests_completed_total`, `_failed_`, `_shed_`, `_cancelled_` and `_refused_`",
      "the same count",
      "model",
      "status"),
  UP_SERVED(
      of(WORKER),
      COUNTER,
      "worker_requests_served_total",
      "`roundhouse_requests_completed_total`",
      "the same count",
      "model"),
  UP_SHED(
      of(WORKER),
      COUNTER,
      "worker_requests_shed_total",
      "`roundhouse_requests_shed_total`, of all reasons",
      "the same count",
      "model"),
  UP_DISPATCHES(
      of(WORKER),
      COUNTER,
      "worker_dispatch_total",
      "`roundhouse_executions_total`",
      "the same count",
      "model"),
  UP_COMPUTE(
      of(WORKER),
      COUNTER,
      "worker_compute_seconds_total",
      "`roundhouse_compute_seconds_total`",
      "the same count",
      "model"),
  UP_ROWS(
      of(WORKER),
      COUNTER,
      "worker_rows_served_total",
      "`roundhouse_rows_total`",
      "the same count",
      "model"),
  UP_QUEUE_DEPTH(
      of(WORKER),
      GAUGE,
      "worker_queue_depth",
      "`roundhouse_requests_waiting`",
      "the same count",
      "model"),
  UP_LATENCY(
      of(WORKER),
      HISTOGRAM,
      "worker_request_latency_seconds",
      "`roundhouse_request_seconds`",
      "the same count",
      "model"),
  UP_MODEL_RESIDENT(
      of(WORKER),
      GAUGE,
      "worker_model_resident",
      "1 when its weights are on the device, as `roundhouse_model_place` of `device`",
      "the same count",
      "model"),
  UP_MODEL_MAX_BATCH(
      of(WORKER),
      GAUGE,
      "worker_model_max_batch_size",
      "Rows of its largest compiled program; 0 without a batch axis",
      "the same count",
      "model"),
  UP_WEIGHT_LOADS(
      of(WORKER),
      COUNTER,
      "worker_weight_loads_total",
      "`roundhouse_weights_loads_total`, of all models",
      "the same count"),
  UP_WEIGHT_EVICTS(
      of(WORKER),
      COUNTER,
      "worker_weight_evicts_total",
      "`roundhouse_weights_evictions_total`, of all models",
      "the same count"),
  UP_WEIGHT_LOAD(
      of(WORKER),
      COUNTER,
      "worker_weight_load_seconds_total",
      "`roundhouse_weights_load_seconds_total`, of all models",
      "the same count"),
  UP_MODELS_LOADED(
      of(WORKER),
      GAUGE,
      "worker_models_loaded",
      "`roundhouse_models` of `ready`",
      "the same count"),
  UP_MODELS_RESIDENT(
      of(WORKER),
      GAUGE,
      "worker_models_resident",
      "Ready models whose weights are on the device",
      "the same count"),
  UP_RESIDENT(
      of(WORKER),
      GAUGE,
      "worker_resident_weight_bytes",
      "`roundhouse_weights_resident_bytes`",
      "the same count"),
  UP_CACHE_RESIDENT(
      of(WORKER),
      GAUGE,
      "worker_weight_cache_resident_bytes",
      "`roundhouse_weights_resident_bytes`",
      "the same count"),
  UP_INFLIGHT(
      of(WORKER),
      GAUGE,
      "worker_inflight_requests",
      "`roundhouse_requests_open`",
      "the same count"),

  // --- a gateway

  GATEWAY_REQUESTS(
      of(GATEWAY),
      COUNTER,
      "gateway_requests_total",
      "Requests that have ended, by their gRPC status; of models that no worker has, as `other`",
      "`GatewayMeters.ended`",
      "model",
      "status"),
  GATEWAY_FOLLOWED(
      of(GATEWAY),
      COUNTER,
      "gateway_followed_requests_total",
      "Requests that one worker could not answer and another was asked",
      "`GatewayMeters.ended`"),
  GATEWAY_HEDGES_STARTED(
      of(GATEWAY),
      COUNTER,
      "gateway_hedges_started_total",
      "Calls that were sent to a second worker, for the first had not answered yet",
      "`Hedging`"),
  GATEWAY_HEDGES_WON(
      of(GATEWAY),
      COUNTER,
      "gateway_hedges_won_total",
      "Of them, those that the second answered",
      "`Hedging`"),
  GATEWAY_HEDGES_REFUSED(
      of(GATEWAY),
      COUNTER,
      "gateway_hedges_refused_total",
      "Calls that were not sent to a second worker because of `hedging.max-share`",
      "`Hedging`"),
  GATEWAY_WORKER_LATENCY(
      of(GATEWAY),
      HISTOGRAM,
      "gateway_worker_latency_seconds",
      "From the choice of a worker to the end of its answer",
      "`GatewayMeters.ended`",
      "worker"),
  GATEWAY_WORKER_READY(
      of(GATEWAY),
      GAUGE,
      "gateway_worker_ready",
      "1 for a worker that takes requests",
      "`WorkerLook`",
      "worker"),
  GATEWAY_WORKER_OUTSTANDING(
      of(GATEWAY),
      GAUGE,
      "gateway_worker_outstanding_seconds",
      "Work that a worker has been given and has not answered",
      "`WorkLedger`",
      "worker"),
  GATEWAY_MODEL_REPLICAS(
      of(GATEWAY),
      GAUGE,
      "gateway_model_replicas",
      "Workers that a model was placed on; in `lpt_packing`",
      "`Placement`",
      "model"),
  GATEWAY_MODEL_UTILIZATION(
      of(GATEWAY),
      GAUGE,
      "gateway_model_utilization",
      "Device seconds that a model needs in a second; in `lpt_packing`",
      "`Placer`",
      "model"),
  GATEWAY_REPLICA_OUTSTANDING(
      of(GATEWAY),
      GAUGE,
      "gateway_replica_outstanding",
      "Items that a worker has been given of a model and has not answered; in `lpt_packing`",
      "`ReplicaRouter`",
      "model",
      "worker"),
  GATEWAY_REPACKS(
      of(GATEWAY),
      COUNTER,
      "gateway_repacks_total",
      "Times that models were placed: `startup`, `compute`, `operator`, `workers`",
      "`Placer`",
      "trigger"),
  GATEWAY_EJECTIONS(
      of(GATEWAY),
      COUNTER,
      "gateway_ejections_total",
      "Times that a worker was left alone for a while",
      "`Ejection`"),
  GATEWAY_MEMORY_HELD(
      of(GATEWAY),
      GAUGE,
      "gateway_memory_held_bytes",
      "Calls on their way through, and what peers of gRPC were asked to send",
      "`ForwardingBudget`"),
  GATEWAY_MEMORY_LIMIT(
      of(GATEWAY),
      GAUGE,
      "gateway_memory_limit_bytes",
      "The most that may be held: `server.max-held`",
      "`ForwardingBudget`"),
  GATEWAY_GRPC_CONNECTIONS_OPEN(
      of(GATEWAY),
      GAUGE,
      "gateway_grpc_connections_open",
      "gRPC connections of clients",
      "`PortLoad`"),
  GATEWAY_GRPC_CALLS_OPEN(
      of(GATEWAY),
      GAUGE,
      "gateway_grpc_calls_open",
      "gRPC calls of clients that have not ended; a stream is one",
      "`PortLoad`"),
  GATEWAY_GRPC_STALLED(
      of(GATEWAY),
      COUNTER,
      "gateway_grpc_stalled_total",
      "gRPC calls and connections ended because their client stopped",
      "`PortLoad`"),
  GATEWAY_GRPC_OTHER_PROTOCOL(
      of(GATEWAY),
      COUNTER,
      "gateway_grpc_other_protocol_total",
      "Connections to the gRPC port ended because their client spoke no HTTP/2",
      "`PortLoad`"),
  GATEWAY_STREAM_CONNECTIONS_OPEN(
      of(GATEWAY),
      GAUGE,
      "gateway_stream_connections_open",
      "Connections of clients for tensor streams ([tstream.md](tstream.md#through-a-gateway)), those in their handshake included",
      "`StreamCounts`"),
  GATEWAY_STREAMS_OPEN(
      of(GATEWAY),
      GAUGE,
      "gateway_streams_open",
      "Tensor streams that a worker has taken and that have not ended",
      "`StreamCounts`"),
  GATEWAY_STREAM_BYTES(
      of(GATEWAY),
      COUNTER,
      "gateway_stream_bytes_total",
      "Bytes that tensor streams have passed on behind their handshakes, by `direction`: `in` to workers, `out` to clients",
      "`StreamCounts`",
      "direction"),
  GATEWAY_STREAM_HELLOS_REFUSED(
      of(GATEWAY),
      COUNTER,
      "gateway_stream_hellos_refused_total",
      "Tensor streams that were refused, by the `status` of the reply, the last worker's or the gateway's own",
      "`StreamCounts`",
      "status"),
  GATEWAY_STREAM_ENDED(
      of(GATEWAY),
      COUNTER,
      "gateway_stream_ended_total",
      "Tensor streams that have ended, by `reason`: `complete`, `client_lost`, `worker_lost`, `unread`, `relieved`, `handshake`, `failed`",
      "`StreamCounts`",
      "reason"),

  // --- what answers for workers

  WORKER_SCRAPE_UP(
      of(GATEWAY, NODE),
      GAUGE,
      "roundhouse_worker_scrape_up",
      "1 for a worker whose metrics are all in this answer",
      "`MergedPage`",
      "worker"),
  WORKER_SCRAPE_DURATION(
      of(GATEWAY, NODE),
      GAUGE,
      "roundhouse_worker_scrape_duration_seconds",
      "How long the worker took to answer",
      "`MergedPage`",
      "worker"),

  // --- a node

  NODE_READY(
      of(NODE),
      GAUGE,
      "roundhouse_node_ready",
      "Whether the gateway is ready, or where there is none every worker",
      "`NodeLifecycle`"),
  NODE_PROCESS_UP(
      of(NODE),
      GAUGE,
      "roundhouse_node_process_up",
      "Whether the process runs",
      "`Supervisor`",
      "process"),
  NODE_PROCESS_READY(
      of(NODE),
      GAUGE,
      "roundhouse_node_process_ready",
      "Whether the process says that it is ready",
      "`NodeLifecycle`",
      "process"),
  NODE_PROCESS_BACKOFF(
      of(NODE),
      GAUGE,
      "roundhouse_node_process_backoff_seconds",
      "Time from its last end to its next start; 0 unless it waits for that",
      "`Supervisor`",
      "process"),
  NODE_PROCESS_RESTARTS(
      of(NODE),
      COUNTER,
      "roundhouse_node_process_restarts_total",
      "Starts beyond the first",
      "`Supervisor`",
      "process"),
  NODE_DEVICE_MEMORY_USED(
      of(NODE),
      GAUGE,
      "roundhouse_node_device_memory_used_bytes",
      "Memory of the device that is in use, whoever uses it",
      "`DeviceMonitor`",
      "device"),
  NODE_DEVICE_MEMORY_TOTAL(
      of(NODE),
      GAUGE,
      "roundhouse_node_device_memory_total_bytes",
      "Memory of the device",
      "`DeviceMonitor`",
      "device");

  private static final String TOTAL = "_total";

  private final Set<Role> roles;
  private final Kind kind;
  private final String seriesName;
  private final Unit unit;
  private final String help;
  private final String countedBy;
  private final List<String> labels;

  Metric(
      Set<Role> roles,
      Kind kind,
      String seriesName,
      String help,
      String countedBy,
      String... labels) {
    this.roles = roles;
    this.kind = kind;
    this.seriesName = seriesName;
    this.help = help;
    this.countedBy = countedBy;
    this.labels = List.of(labels);
    unit = Unit.of(base());
  }

  private static Set<Role> of(Role first, Role... others) {
    return Collections.unmodifiableSet(EnumSet.of(first, others));
  }

  /** Which applications show it. */
  public Set<Role> roles() {
    return roles;
  }

  public Kind kind() {
    return kind;
  }

  /** As Prometheus has it; of a histogram without {@code _bucket}, {@code _sum}, {@code _count}. */
  public String seriesName() {
    return seriesName;
  }

  public Unit unit() {
    return unit;
  }

  public String help() {
    return help;
  }

  /** Where in the code the number comes from. */
  public String countedBy() {
    return countedBy;
  }

  /** Names of its labels, in the order in which their values are given. */
  public List<String> labels() {
    return labels;
  }

  /** Without what the kind adds to it. */
  String base() {
    return kind == COUNTER && seriesName.endsWith(TOTAL)
        ? seriesName.substring(0, seriesName.length() - TOTAL.length())
        : seriesName;
  }

  /** What a scrape may do with it. */
  public enum Kind {
    /** Only grows, but for a restart. */
    COUNTER,
    /** Goes up and down. */
    GAUGE,
    /** How often which values came. */
    HISTOGRAM,
    /** A counter whose name, which others gave it, does not end in {@code _total}. */
    UNTYPED
  }

  /** Who shows it. */
  public enum Role {
    WORKER,
    GATEWAY,
    NODE
  }

  /** What it is counted in, which the end of its name says. */
  public enum Unit {
    SECONDS("_seconds", "_secs"),
    MICROSECONDS("_us"),
    BYTES("_bytes"),
    NONE("");

    /** Ours first, then other servers'. */
    private final List<String> suffixes;

    Unit(String... suffixes) {
      this.suffixes = List.of(suffixes);
    }

    String suffix() {
      return suffixes.getFirst();
    }

    private static Unit of(String base) {
      for (Unit unit : values()) {
        if (unit.suffixes.stream().anyMatch(base::endsWith)) {
          return unit;
        }
      }
      throw new AssertionError(base);
    }
  }
}
