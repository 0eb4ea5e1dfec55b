package dev.roundhouse.worker.config;

import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Whether clients of the TensorRT Inference Server are served.
 *
 * @param enabled Serve it at the ports of gRPC and HTTP, beside v2.
 */
public record V1Properties(@DefaultValue("false") boolean enabled) {}
