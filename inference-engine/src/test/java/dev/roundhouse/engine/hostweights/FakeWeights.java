package dev.roundhouse.engine.hostweights;

import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.bundle.weights.FileIdentity;
import dev.roundhouse.bundle.weights.OpenWeights;
import dev.roundhouse.bundle.weights.Weight;
import dev.roundhouse.bundle.weights.WeightSource;
import dev.roundhouse.bundle.weights.WeightsOrigin;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntFunction;

/**
 * Weights of bytes, which can be read again. Stricter than a file: it must be closed once, verified
 * once after each tensor was copied once, and not read when it is closed.
 */
final class FakeWeights implements WeightsOrigin {
  private final List<byte[]> tensors = new ArrayList<>();
  private final String sha256;
  final AtomicInteger open = new AtomicInteger();
  final AtomicInteger reads = new AtomicInteger();

  /** Of the file that they would lie in. */
  volatile Optional<FileIdentity> identity = Optional.empty();

  /** What the next tensor to be read meets; may throw. */
  volatile Runnable onRead = () -> {};

  FakeWeights(String sha256, byte[]... tensors) {
    this.sha256 = sha256;
    this.tensors.addAll(List.of(tensors));
  }

  /** Random bytes, the same for the same seed. */
  static byte[] bytes(long seed, int size) {
    byte[] bytes = new byte[size];
    new Random(seed).nextBytes(bytes);
    return bytes;
  }

  byte[] tensor(int index) {
    return tensors.get(index);
  }

  void assertHeldBy(Lease lease) {
    for (int i = 0; i < tensors.size(); i++) {
      MemorySegment tensor = lease.tensor(i);
      if (tensor.address() % 64 != 0 && tensor.byteSize() > 0) {
        throw new AssertionError("tensor " + i + " is not aligned");
      }
      if (tensor.mismatch(MemorySegment.ofArray(tensors.get(i))) >= 0) {
        throw new AssertionError("tensor " + i + " has other bytes");
      }
    }
  }

  /** As when the model is loaded: open already, and closed by the loader. */
  HostWeights openIn(HostWeightStore store, String model, HostWeightsKind kind) {
    try (OpenWeights opened = open()) {
      return store.open(model, opened, kind);
    }
  }

  HostWeights openIn(HostWeightStore store, String model) {
    return openIn(store, model, HostWeightsKind.KEPT);
  }

  /** The same weights, without a way to read them again. */
  WeightSource once() {
    OpenWeights opened = open();
    return new WeightSource() {
      @Override
      public List<Weight> arguments() {
        return opened.arguments();
      }

      @Override
      public void copyTo(int index, MemorySegment target) {
        opened.copyTo(index, target);
      }

      @Override
      public void verify(IntFunction<MemorySegment> copies) {
        opened.verify(copies);
      }
    };
  }

  @Override
  public Optional<String> sha256() {
    return sha256.isEmpty() ? Optional.empty() : Optional.of(sha256);
  }

  @Override
  public Optional<FileIdentity> identity() {
    return identity;
  }

  @Override
  public OpenWeights open() {
    open.incrementAndGet();
    return new Opened();
  }

  private final class Opened implements OpenWeights {
    private final List<Integer> copied = new ArrayList<>();
    private boolean closed;
    private boolean verified;

    @Override
    public List<Weight> arguments() {
      List<Weight> weights = new ArrayList<>();
      for (byte[] tensor : tensors) {
        weights.add(new Weight("w" + weights.size(), TensorType.of(DType.U8, tensor.length)));
      }
      return weights;
    }

    @Override
    public Optional<WeightsOrigin> origin() {
      return Optional.of(FakeWeights.this);
    }

    @Override
    public void copyTo(int index, MemorySegment target) {
      require(!closed, "read after close");
      require(!copied.contains(index), "tensor " + index + " read twice");
      if (copied.isEmpty()) {
        reads.incrementAndGet();
      }
      copied.add(index);
      onRead.run();
      byte[] from = tensors.get(index);
      MemorySegment.copy(from, 0, target, ValueLayout.JAVA_BYTE, 0, from.length);
    }

    @Override
    public void verify(IntFunction<MemorySegment> copies) {
      require(!closed && !verified, "verified after close, or twice");
      require(copied.size() == tensors.size(), "verified before all was read");
      verified = true;
      for (int i = 0; i < tensors.size(); i++) {
        MemorySegment copy = copies.apply(i);
        if (copy.byteSize() != tensors.get(i).length
            || copy.mismatch(MemorySegment.ofArray(tensors.get(i))) >= 0) {
          throw new BundleException("fake", "tensor " + i + " is not what was published");
        }
      }
    }

    @Override
    public void close() {
      require(!closed, "closed twice");
      closed = true;
      open.decrementAndGet();
    }

    private static void require(boolean holds, String otherwise) {
      if (!holds) {
        throw new AssertionError(otherwise);
      }
    }
  }
}
