import dev.roundhouse.client.InferRequest;
import dev.roundhouse.client.InferStream;
import dev.roundhouse.client.KServeClient;
import dev.roundhouse.client.tensor.Tensor;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.Scope;
import io.opentelemetry.context.propagation.ContextPropagators;
import io.opentelemetry.exporter.otlp.http.trace.OtlpHttpSpanExporter;
import io.opentelemetry.exporter.otlp.trace.OtlpGrpcSpanExporter;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.resources.Resource;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.export.BatchSpanProcessor;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import java.time.Duration;

/**
 * An application with spans of its own around calls of one model that takes x f32[n,16]: one by
 * itself, which is traced as "one", and two in a stream, traced as "stream". Prints the two traces'
 * ids.
 *
 * <p>Arguments: a server, a model, grpc or http, the collector.
 */
public class TracedCalls {
  public static void main(String[] args) throws Exception {
    SpanExporter exporter =
        args[2].equals("grpc")
            ? OtlpGrpcSpanExporter.builder().setEndpoint(args[3]).build()
            : OtlpHttpSpanExporter.builder().setEndpoint(args[3] + "/v1/traces").build();
    Resource resource = Resource.builder().put("service.name", "application").build();
    try (OpenTelemetrySdk telemetry =
            OpenTelemetrySdk.builder()
                .setTracerProvider(
                    SdkTracerProvider.builder()
                        .setResource(resource)
                        .addSpanProcessor(BatchSpanProcessor.builder(exporter).build())
                        .build())
                .setPropagators(ContextPropagators.create(W3CTraceContextPropagator.getInstance()))
                .build();
        KServeClient client =
            KServeClient.to(args[0])
                .deadline(Duration.ofSeconds(30))
                .openTelemetry(telemetry)
                .build()) {
      InferRequest request =
          InferRequest.to(args[1]).input("x", Tensor.of(new float[16], 1, 16)).build();
      within(telemetry, "one", () -> client.infer(request));
      within(
          telemetry,
          "stream",
          () -> {
            try (InferStream stream = client.stream()) {
              stream.send(request);
              stream.send(request);
              stream.halfClose();
              while (stream.next().isPresent()) {}
            }
          });
    }
  }

  private interface Work {
    void run() throws Exception;
  }

  private static void within(OpenTelemetrySdk telemetry, String name, Work work) throws Exception {
    Span span = telemetry.getTracer("application").spanBuilder(name).startSpan();
    try (Scope scope = span.makeCurrent()) {
      work.run();
    } finally {
      span.end();
    }
    System.out.println(span.getSpanContext().getTraceId());
  }
}
