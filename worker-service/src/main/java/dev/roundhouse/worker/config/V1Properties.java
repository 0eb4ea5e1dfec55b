package dev.roundhouse.worker.config;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Whether clients of the TensorRT Inference Server are served.
 *
 * @param enabled Serve it at the ports of gRPC and HTTP, beside v2, unless it has ports of its own.
 * @param grpcPort A port of its own for it over gRPC; 0 for any that is free, -1 for none. Where
 *     this or `http-port` is set, it is served there and nowhere else. Address, TLS and limits are
 *     those of the other port of gRPC.
 * @param httpPort Likewise over HTTP.
 */
public record V1Properties(
    @DefaultValue("false") boolean enabled,
    @Min(-1) @Max(65535) @DefaultValue("-1") int grpcPort,
    @Min(-1) @Max(65535) @DefaultValue("-1") int httpPort) {

  /** Whether it is served apart from v2. */
  public boolean hasOwnPorts() {
    return grpcPort >= 0 || httpPort >= 0;
  }
}
