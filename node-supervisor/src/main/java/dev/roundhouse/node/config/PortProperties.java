package dev.roundhouse.node.config;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Where the node listens.
 *
 * @param address For all but the workers behind a gateway, which listen on loopback only. Empty:
 *     every address.
 * @param grpc KServe V2 over gRPC, of the gateway or the only worker; 0 takes any free port, here
 *     and below.
 * @param http KServe V2 over HTTP.
 * @param metrics Actuator and metrics of the gateway or the only worker.
 * @param node Actuator and metrics of the supervisor.
 * @param workerBase First of the ports of workers when there is more than one: worker i has base +
 *     3i for gRPC, then HTTP, then metrics.
 */
public record PortProperties(
    @DefaultValue("") String address,
    @Min(0) @Max(65535) @DefaultValue("8001") int grpc,
    @Min(0) @Max(65535) @DefaultValue("8000") int http,
    @Min(0) @Max(65535) @DefaultValue("8002") int metrics,
    @Min(0) @Max(65535) @DefaultValue("8003") int node,
    @Min(0) @Max(65535) @DefaultValue("18000") int workerBase) {}
