package dev.roundhouse.worker.transport.shm;

import dev.roundhouse.kserve.codec.MessageLimits;
import dev.roundhouse.kserve.codec.RegionRange;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireException.About;
import dev.roundhouse.kserve.status.WireStatus;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/**
 * The regions of shared memory that clients have registered, by name. An unregistered region stays
 * open for the requests that already use it. Thread-safe.
 */
public final class ClientRegions implements AutoCloseable {
  /** Prefixes of objects that clients may not register: this server's weights, and Triton's own. */
  private static final List<String> KEPT =
      List.of("roundhouse-", "triton_python_backend_shm_region_");

  /** Of one region, because a process has 128 TiB of address space. */
  private static final long MOST_BYTES = 1L << 40;

  private final Settings settings;
  private final RegionCopy copy;
  private final SharedObjects objects = new SharedObjects();
  private final RegionTable regions;
  private final CudaRegions cuda;

  /**
   * @param copy reads and writes regions of POSIX objects
   * @param cuda taken
   */
  public ClientRegions(Settings settings, RegionCopy copy, CudaAccess cuda) {
    this.settings = settings;
    this.copy = copy;
    regions = new RegionTable(settings.most());
    this.cuda = new CudaRegions(cuda, regions);
  }

  /**
   * What the operator allows.
   *
   * @param enabled whether clients may use shared memory at all
   * @param keyPrefixes beginnings of the names of objects that may be registered; empty for any
   * @param most regions that may be registered at once
   */
  public record Settings(boolean enabled, List<String> keyPrefixes, int most) {}

  /** What is registered of one kind. */
  public record Held(int regions, long bytes) {}

  /** A region of a POSIX object as it was registered. */
  public record Registered(String name, String key, long offset, long byteSize) {}

  /**
   * @param key of the POSIX object, with or without a leading slash
   * @param offset where the region begins in it, in bytes
   * @throws WireException UNIMPLEMENTED when shared memory is off, else with what is wrong
   */
  public void register(String name, String key, long offset, long byteSize) {
    requireEnabled();
    requireName(name);
    Path object = object(key);
    if (byteSize <= 0) {
      throw refused(name, "byte_size is %s; it must be 1 or more", Long.toUnsignedString(byteSize));
    }
    if (byteSize > MOST_BYTES) {
      throw refused(name, "byte_size is %d; a region may have %d (1 TiB)", byteSize, MOST_BYTES);
    }
    if (offset < 0 || offset + byteSize < 0) {
      throw refused(
          name,
          "offset %s and byte_size %s are more than a file can hold",
          Long.toUnsignedString(offset),
          Long.toUnsignedString(byteSize));
    }
    regions.take(name);
    ClientRegion region;
    try {
      region = open(name, key, object, offset, byteSize);
    } catch (RuntimeException | Error e) {
      regions.giveUp(name);
      throw e;
    }
    regions.put(region);
  }

  private ClientRegion open(String name, String key, Path path, long offset, long byteSize) {
    FileChannel channel;
    try {
      if (!SharedObjects.isObject(path)) {
        throw cannotOpen(key);
      }
      channel =
          FileChannel.open(
              path, StandardOpenOption.READ, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS);
    } catch (IOException e) {
      throw cannotOpen(key);
    }
    try {
      long size = channel.size();
      if (offset + byteSize > size) {
        throw refused(
            name,
            "invalid args: offset %d and byte_size %d end beyond '%s', which has %d bytes",
            offset,
            byteSize,
            key,
            size);
      }
      return new SystemRegion(name, key, offset, byteSize, channel, copy);
    } catch (IOException | RuntimeException | Error e) {
      try {
        channel.close();
      } catch (IOException closing) {
        e.addSuppressed(closing);
      }
      switch (e) {
        case RuntimeException refusal -> throw refusal;
        case Error error -> throw error;
        default -> throw cannotOpen(key);
      }
    }
  }

  /** What is registered of POSIX objects. */
  public Held heldSystem() {
    return regions.held(SystemRegion.class);
  }

  /** What is registered of memory on GPUs. */
  public Held heldCuda() {
    return regions.held(CudaRegion.class);
  }

  /** Regions of both kinds together that may be registered. */
  public int most() {
    return settings.most();
  }

  /**
   * Unregisters a region of a POSIX object; harmless when there is none.
   *
   * @param name empty for all
   */
  public void unregister(String name) {
    var unused = regions.remove(SystemRegion.class, name);
  }

  /**
   * The registered regions of POSIX objects, by name.
   *
   * @param name empty for all
   * @throws WireException NOT_FOUND when there is no region of that name
   */
  public List<Registered> status(String name) {
    if (name.isEmpty()) {
      return regions.all(SystemRegion.class).stream().map(ClientRegions::registered).toList();
    }
    return switch (regions.find(name)) {
      case SystemRegion region -> List.of(registered(region));
      case CudaRegion other ->
          throw new WireException(
              WireStatus.NOT_FOUND,
              "The region named '"
                  + name
                  + "' is registered as CUDA shared memory, not system shared memory");
      case null ->
          throw new WireException(
              WireStatus.NOT_FOUND, "Unable to find system shared memory region: '" + name + "'");
    };
  }

  private static Registered registered(SystemRegion region) {
    return new Registered(region.name(), region.key(), region.offset(), region.byteSize());
  }

  /** Regions of memory on the worker's GPU; there even where none can be registered. */
  public CudaRegions cuda() {
    return cuda;
  }

  /**
   * Holds a part of a region for a request, even if it is unregistered meanwhile.
   *
   * @throws WireException UNIMPLEMENTED when shared memory is off, NOT_FOUND when there is no such
   *     region, INVALID_ARGUMENT when the range is not inside it
   */
  public Lease lease(RegionRange range) {
    requireEnabled();
    ClientRegion region = regions.use(range.region());
    if (region == null) {
      throw WireException.about(
          About.REGION,
          WireStatus.NOT_FOUND,
          "Unable to find shared memory region: '" + range.region() + "'; register it first");
    }
    try {
      checkRange(region, range);
      region.requireThere(range.offset(), range.byteSize());
      return new Lease(region, range);
    } catch (RuntimeException e) {
      region.release();
      throw e;
    }
  }

  /**
   * Holds all of a region of a POSIX object, even if it is unregistered meanwhile.
   *
   * @throws WireException as {@link #lease}; UNIMPLEMENTED for memory on a GPU
   */
  public Lease lease(String name) {
    requireEnabled();
    requireName(name);
    SystemRegion region =
        switch (regions.find(name)) {
          case SystemRegion found -> found;
          case CudaRegion other ->
              throw new WireException(
                  WireStatus.UNIMPLEMENTED,
                  "shared memory region '%s' is on a GPU; here system shared memory is needed"
                      .formatted(name));
          case null -> null;
        };
    return lease(new RegionRange(name, 0, region == null ? 1 : region.byteSize()));
  }

  private static void checkRange(ClientRegion region, RegionRange range) {
    if (range.offset() >= region.byteSize()) {
      throw WireException.invalidArgument(
          "Invalid offset for shared memory region: '%s': it is %d and the region has %d bytes"
              .formatted(region.name(), range.offset(), region.byteSize()));
    }
    if (range.byteSize() > region.byteSize() - range.offset()) {
      throw WireException.invalidArgument(
          "Invalid offset + byte size for shared memory region: '%s': %d bytes at %d, and the region has %d bytes"
              .formatted(region.name(), range.byteSize(), range.offset(), region.byteSize()));
    }
  }

  /** The file of an object that a client may register. */
  private Path object(String key) {
    Path file = objects.file(key);
    String object = file.getFileName().toString();
    if (KEPT.stream().anyMatch(object::startsWith)) {
      throw WireException.invalidArgument(
          "cannot register shared memory with key '%s': names that begin with %s are not for clients"
              .formatted(key, String.join(" or ", KEPT)));
    }
    if (!settings.keyPrefixes().isEmpty()
        && settings.keyPrefixes().stream().noneMatch(object::startsWith)) {
      throw WireException.invalidArgument(
          "cannot register shared memory with key '%s': keys begin with %s here (roundhouse.worker.shared-memory.key-prefixes)"
              .formatted(key, String.join(" or ", settings.keyPrefixes())));
    }
    return file;
  }

  private void requireEnabled() {
    if (!settings.enabled()) {
      throw disabled();
    }
  }

  static void requireName(String name) {
    if (name.isEmpty()) {
      throw WireException.invalidArgument(
          "shared memory region name cannot be empty; every request names it");
    }
    MessageLimits.requireName("shared memory region name", name);
  }

  /** The refusal while shared memory is off. */
  static WireException disabled() {
    return new WireException(
        WireStatus.UNIMPLEMENTED,
        "Client shared memory is disabled; send tensors in the request, or have the operator set roundhouse.worker.shared-memory.enabled");
  }

  private static WireException refused(String name, String format, Object... values) {
    return WireException.invalidArgument(
        "failed to register shared memory region '" + name + "': " + format.formatted(values));
  }

  private static WireException cannotOpen(String key) {
    return new WireException(
        WireStatus.INTERNAL,
        "Unable to open shared memory region: '"
            + key
            + "'; make it first, on the same machine, readable and writable for this server");
  }

  /** Closes all of them; call when no request is open any more. */
  @Override
  public void close() {
    regions.close();
    cuda.close();
  }
}
