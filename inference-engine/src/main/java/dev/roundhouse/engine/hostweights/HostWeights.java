package dev.roundhouse.engine.hostweights;

import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.bundle.weights.WeightsOrigin;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** One model's weights as they wait on the host. Thread-safe; closed by whoever opened it. */
public final class HostWeights implements AutoCloseable {
  private final HostWeightStore store;
  private final String model;
  private final HostWeightsLayout layout;
  private final @Nullable WeightsOrigin origin;

  /** Held while the weights are read, so that two leases do not read them twice. */
  private final ReentrantLock reading = new ReentrantLock();

  /**
   * Of weights whose bundle has no digest, once it is known. Guarded by {@link #reading}, or used
   * before anybody else has this.
   */
  @Nullable String computedDigest;

  /** Guarded by the store. */
  HostWeightsKind kind;

  /** Null while the weights are not in memory. Guarded by the store. */
  @Nullable HostWeightsMemory memory;

  /** Guarded by the store. */
  boolean closed;

  /**
   * @param origin null when the weights cannot be read again
   */
  HostWeights(
      HostWeightStore store,
      String model,
      HostWeightsLayout layout,
      Optional<WeightsOrigin> origin,
      HostWeightsKind kind) {
    this.store = store;
    this.model = model;
    this.layout = layout;
    this.origin = origin.orElse(null);
    this.kind = kind;
  }

  HostWeightStore store() {
    return store;
  }

  String model() {
    return model;
  }

  HostWeightsLayout layout() {
    return layout;
  }

  @Nullable WeightsOrigin origin() {
    return origin;
  }

  ReentrantLock reading() {
    return reading;
  }

  /** Tensors. */
  public int count() {
    return layout.count();
  }

  public TensorType type(int index) {
    return layout.type(index);
  }

  /** In the order the program takes them. */
  public List<TensorType> types() {
    return layout.types();
  }

  /** Bytes of the weights, without alignment. */
  public long byteSize() {
    return layout.byteSize();
  }

  /** Whether {@link #lease} returns without reading a file, as things are now. */
  public boolean isInMemory() {
    return report().inMemory();
  }

  /**
   * Brings the weights into memory if they are not, which blocks on the disk, and keeps them there
   * until the lease is closed.
   *
   * @throws dev.roundhouse.bundle.error.BundleException when the files are gone, cut off or not
   *     those that were loaded; what was read is checked against the bundle's digest
   * @throws HostWeightsException when there is no memory for them
   * @throws IllegalStateException when they are closed
   */
  public Lease lease() {
    return store.lease(this);
  }

  /**
   * Frees the memory; the next lease reads the files again.
   *
   * @return false when it stays: the weights are leased, or their files cannot be read again
   */
  public boolean evict() {
    return store.evict(this);
  }

  /**
   * Changes whether the weights wait in memory. To {@link HostWeightsKind#RE_READ} lets them go, at
   * the end of the last lease; to {@link HostWeightsKind#KEPT} keeps what the next lease reads.
   * Weights that cannot be read again stay.
   */
  public void keepAs(HostWeightsKind wanted) {
    store.keepAs(this, wanted);
  }

  public HostWeightsReport report() {
    return store.report(this);
  }

  /** Frees the memory, at the end of the last lease; the second time, nothing happens. */
  @Override
  public void close() {
    store.close(this);
  }
}
