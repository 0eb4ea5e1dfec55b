/**
 * What a worker and a gateway share of the v1 protocol over gRPC: {@link
 * dev.roundhouse.platform.v1.V1Service} answers every call but inference by the application's
 * {@link dev.roundhouse.platform.v1.V1Answers}. Over HTTP the same calls are {@code
 * platform.rest}'s {@code V1Table}.
 */
@NullMarked
package dev.roundhouse.platform.v1;

import org.jspecify.annotations.NullMarked;
