package dev.roundhouse.platform.v1;

import dev.roundhouse.kserve.proto.RepositoryIndexResponse;
import dev.roundhouse.kserve.v1.proto.RequestStatus;
import dev.roundhouse.kserve.v1.proto.StatusResponse;
import java.util.concurrent.CompletableFuture;

/**
 * What an application answers calls of v1 with. What throws, or completes with a failure, is told
 * the caller by {@link #failure}. Thread-safe; does not block.
 */
public interface V1Answers {
  boolean isAlive();

  boolean isReady();

  /** How a call went that went well. */
  RequestStatus success();

  /**
   * How a call went that did not.
   *
   * @param cause as it was thrown first
   */
  RequestStatus failure(Throwable cause);

  /**
   * @param model empty for all
   * @return completes with an answer that has its status
   */
  CompletableFuture<StatusResponse> status(String model);

  CompletableFuture<?> load(String model);

  CompletableFuture<?> unload(String model);

  /** What is in the repository. */
  CompletableFuture<RepositoryIndexResponse> index();

  V1Regions regions();
}
