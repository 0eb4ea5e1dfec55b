package dev.roundhouse.bundle.weights;

import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.bundle.tensor.TensorType;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * A checked safetensors file. Any thread may read until {@link #close}; a read after it throws
 * {@link IllegalStateException}.
 */
public final class WeightsFile implements OpenWeights {
  /** What the safetensors library itself accepts. */
  private static final long MAX_HEADER_BYTES = 100_000_000;

  private static final ValueLayout.OfLong LENGTH =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private final String file;
  private final FileOrigin origin;
  private final FileChannel channel;
  private final long size;
  private final long dataStart;
  private final List<FileTensor> tensors;
  private final List<Weight> arguments;
  private final @Nullable WeightsDigest digest;

  private WeightsFile(Path path, AxisOrder order, Optional<String> sha256, FileChannel channel)
      throws IOException {
    this.file = path.toString();
    this.origin = new FileOrigin(path, order, sha256, FileOrigin.State.of(path));
    this.channel = channel;
    this.size = channel.size();
    if (size < Long.BYTES) {
      throw new BundleException(
          file, "is " + size + " bytes long; a safetensors file starts with 8 bytes of length");
    }
    MemorySegment length = MemorySegment.ofArray(new byte[Long.BYTES]);
    FileBytes.read(channel, 0, length);
    long headerBytes = length.get(LENGTH, 0);
    if (headerBytes < 0 || headerBytes > MAX_HEADER_BYTES || headerBytes > size - Long.BYTES) {
      throw new BundleException(
          file,
          "claims a header of %s bytes; the file has %d after the length, and the limit is %d"
              .formatted(Long.toUnsignedString(headerBytes), size - Long.BYTES, MAX_HEADER_BYTES));
    }
    this.dataStart = Long.BYTES + headerBytes;
    this.digest = sha256.map(hex -> new WeightsDigest(file, hex, headerBytes)).orElse(null);
    InputStream text = FileBytes.stream(channel, Long.BYTES, headerBytes);
    if (digest != null) {
      text = digest.hashed(text);
    }
    SafetensorsHeader header = SafetensorsHeader.read(text, file);
    text.transferTo(OutputStream.nullOutputStream());
    DataBlock.check(header.tensors(), size - dataStart, file);
    this.tensors = ArgumentOrder.apply(header, file);
    this.arguments = tensors.stream().map(this::argument).toList();
  }

  /**
   * Opens a file and checks its header in full; its digest is checked by {@link #verify}.
   *
   * @param sha256 of the whole file, where the bundle says it; only with {@link
   *     AxisOrder#ROW_MAJOR}, as other orders change the bytes
   * @throws BundleException when the file cannot be read or breaks a rule of safetensors or of
   *     {@code argument_order}
   */
  public static WeightsFile open(Path path, AxisOrder order, Optional<String> sha256) {
    if (sha256.isPresent() && order != AxisOrder.ROW_MAJOR) {
      throw new IllegalArgumentException("a digest cannot be checked on weights in order " + order);
    }
    if (!Files.isRegularFile(path)) {
      throw new BundleException(
          path.toString(), "is not a file; a model needs it even if it has no weights");
    }
    FileChannel channel = null;
    boolean opened = false;
    try {
      channel = FileChannel.open(path, StandardOpenOption.READ);
      WeightsFile file = new WeightsFile(path, order, sha256, channel);
      opened = true;
      return file;
    } catch (IOException e) {
      throw BundleException.inaccessible(path, "cannot be read", e);
    } finally {
      if (!opened && channel != null) {
        close(channel);
      }
    }
  }

  @Override
  public List<Weight> arguments() {
    return arguments;
  }

  @Override
  public Optional<WeightsOrigin> origin() {
    return Optional.of(origin);
  }

  FileOrigin.State state() {
    return origin.state();
  }

  /** Bytes of all weights together, without padding. */
  public long byteSize() {
    return size - dataStart;
  }

  /**
   * {@inheritDoc}
   *
   * @throws BundleException when the file was cut short or changed since it was opened
   */
  @Override
  public void copyTo(int index, MemorySegment target) {
    FileTensor tensor = tensors.get(index);
    long bytes = tensor.type().byteSize();
    if (target.byteSize() < bytes) {
      throw new IllegalArgumentException(
          "weight '%s' needs %d bytes, the target has %d"
              .formatted(tensor.name(), bytes, target.byteSize()));
    }
    if (!channel.isOpen()) {
      throw new IllegalStateException(file + " is closed");
    }
    try {
      copy(tensor, target.asSlice(0, bytes));
      if (channel.size() != size) {
        throw changed(tensor, null);
      }
    } catch (IOException e) {
      throw changed(tensor, e);
    }
  }

  private void copy(FileTensor tensor, MemorySegment target) throws IOException {
    long position = dataStart + tensor.begin();
    if (origin.order() == AxisOrder.ROW_MAJOR || AxisReversal.isPlainCopy(tensor.type().shape())) {
      FileBytes.read(channel, position, target);
      return;
    }
    try (Arena scratch = Arena.ofConfined()) {
      MemorySegment source = scratch.allocate(target.byteSize());
      FileBytes.read(channel, position, source);
      AxisReversal.copy(source, target, tensor.type().shape(), tensor.type().dtype().byteSize());
    }
  }

  @Override
  public void verify(IntFunction<MemorySegment> copies) {
    if (digest == null) {
      return;
    }
    digest.check(
        IntStream.range(0, tensors.size())
            .boxed()
            .sorted(Comparator.comparingLong(index -> tensors.get(index).begin()))
            .map(copies::apply)
            .toList());
  }

  @Override
  public void close() {
    close(channel);
  }

  private static void close(FileChannel channel) {
    try {
      channel.close();
    } catch (IOException _) {
      // Nothing was written, so nothing can be lost.
    }
  }

  private BundleException changed(FileTensor tensor, @Nullable Throwable e) {
    BundleException changed =
        new BundleException(
            file,
            "tensor '%s' cannot be read: %s"
                .formatted(
                    tensor.name(),
                    e == null || e instanceof EOFException
                        ? "the file changed its size since it was opened at " + size + " bytes"
                        : e.getMessage()));
    if (e != null) {
      changed.initCause(e);
    }
    return changed;
  }

  private Weight argument(FileTensor tensor) {
    TensorType type = tensor.type();
    return switch (origin.order()) {
      case ROW_MAJOR -> new Weight(tensor.name(), type);
      case REVERSED ->
          new Weight(tensor.name(), new TensorType(type.dtype(), reversed(type.shape())));
    };
  }

  private static Shape reversed(Shape shape) {
    long[] dims = new long[shape.rank()];
    for (int axis = 0; axis < dims.length; axis++) {
      dims[axis] = shape.dim(dims.length - 1 - axis);
    }
    return Shape.of(dims);
  }
}
