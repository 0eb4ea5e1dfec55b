package dev.roundhouse.devicecheck.step;

import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.bundle.weights.OpenWeights;
import dev.roundhouse.bundle.weights.Weight;
import dev.roundhouse.bundle.weights.WeightsOrigin;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * One weight that is made up whenever it is read, so that no disk is measured. Immutable.
 *
 * @param content names the bytes: weights of equal names are equal
 * @param fill writes all of them
 */
record SyntheticWeights(TensorType type, String content, Consumer<MemorySegment> fill)
    implements OpenWeights, WeightsOrigin {

  @Override
  public List<Weight> arguments() {
    return List.of(new Weight("w", type));
  }

  @Override
  public void copyTo(int index, MemorySegment target) {
    fill.accept(target);
  }

  @Override
  public Optional<WeightsOrigin> origin() {
    return Optional.of(this);
  }

  @Override
  public OpenWeights open() {
    return this;
  }

  /** Of the name, which stands for the bytes: they are whatever {@code fill} writes. */
  @Override
  public Optional<String> sha256() {
    try {
      byte[] name = content.getBytes(StandardCharsets.UTF_8);
      return Optional.of(
          HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(name)));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-256", e);
    }
  }

  @Override
  public void close() {}
}
