package dev.roundhouse.gateway.config;

import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Whether clients of the TensorRT Inference Server are served ([v1.md](v1.md)).
 *
 * @param enabled Serve it at the ports of gRPC and HTTP, beside v2. Workers must have
 *     `roundhouse.worker.v1.enabled`.
 */
public record V1Properties(@DefaultValue("false") boolean enabled) {}
