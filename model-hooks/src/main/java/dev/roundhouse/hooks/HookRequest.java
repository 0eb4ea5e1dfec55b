package dev.roundhouse.hooks;

import dev.roundhouse.bundle.tensor.DType;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * One request, as its hooks see it, and what they make tensors with. One hook of a request runs at
 * a time; a thread that a hook starts may read, and must not make tensors.
 */
public interface HookRequest {

  /** As the caller named it; empty for none. */
  String id();

  ModelContext model();

  /** In the order of the contract, which they keep. Read-only. */
  Tensors inputs();

  /** One of {@link #inputs}. */
  default Tensor input(String name) {
    return inputs().get(name);
  }

  /** What the caller says besides: each a String, Boolean, Long or Double. */
  Map<String, Object> parameters();

  /** Whether the caller asks for an output; others need not be made. */
  boolean wants(String output);

  /** What is left until the caller's deadline, 0 at least; empty when it has none. */
  Optional<Duration> remaining();

  /** True once the request is over, as when its caller has gone: nobody needs what is made now. */
  boolean isCancelled();

  /**
   * Sends a part of the answer now; of a decoupled model alone, by the thread that runs the hook.
   * The tensors are copied and may be written again. Waits while the caller has not read the parts
   * before: 16 of them, or 1 MiB.
   *
   * @param part the outputs that the caller asks for, with any number of rows
   * @throws IllegalStateException when the model is not decoupled
   * @throws java.util.concurrent.CancellationException when the request is over, as when its caller
   *     has gone
   * @throws IllegalArgumentException when the part does not keep to the contract
   * @throws HookException when it is larger than a message, or there is no room for it
   */
  void answer(Tensors part) throws InterruptedException;

  /** Keeps something from one hook of the request to the next. */
  void attach(Object value);

  /**
   * What {@link #attach} kept.
   *
   * @throws IllegalStateException when that is nothing, or of another type
   */
  <T> T attachment(Class<T> type);

  /**
   * Makes a tensor of zeros, to be written. Its memory is counted with the request's and lives
   * until the answer is gone.
   *
   * @throws HookException RESOURCE_EXHAUSTED when there is no room for it
   */
  Tensor tensor(String name, DType dtype, long... shape);

  /**
   * Makes a tensor of BYTES.
   *
   * @param values row-major, not copied before they are written
   * @param shape without one, as many as there are values
   * @throws HookException RESOURCE_EXHAUSTED when there is no room for it
   */
  Tensor bytes(String name, List<byte[]> values, long... shape);

  /** As {@link #bytes}, of texts in UTF-8. */
  default Tensor strings(String name, List<String> values, long... shape) {
    return bytes(
        name, values.stream().map(text -> text.getBytes(StandardCharsets.UTF_8)).toList(), shape);
  }
}
