package dev.roundhouse.client;

import dev.roundhouse.client.retry.RetryPolicy;
import io.opentelemetry.api.OpenTelemetry;
import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * How calls are made.
 *
 * @param deadline of calls that set none; null for none
 * @param maxRequestBytes of one message
 * @param maxAnswerBytes of one message
 * @param token of a call, fetched for each attempt; null for none
 * @param budgetParameter whether the time left is also sent as a parameter
 * @param openTelemetry that makes spans of calls; null when they have none
 * @param executor that completes futures
 */
record CallSettings(
    @Nullable Duration deadline,
    RetryPolicy retry,
    int maxRequestBytes,
    int maxAnswerBytes,
    @Nullable Supplier<String> token,
    boolean budgetParameter,
    @Nullable OpenTelemetry openTelemetry,
    Executor executor) {}
