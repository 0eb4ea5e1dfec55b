package dev.roundhouse.engine.hostweights;

import dev.roundhouse.engine.device.PinnedMemory;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** A complete region that other processes may read too, mapped, with its lock held. */
final class SharedRegion extends HostWeightsMemory {
  private final HostWeightsLayout layout;
  private final RegionFile file;
  private final Arena arena;
  private final MemorySegment region;
  private final HostBytes account;
  private final @Nullable PinnedMemory pin;

  /** Takes the file, the arena and the pin. */
  SharedRegion(
      HostWeightsLayout layout,
      RegionFile file,
      Arena arena,
      MemorySegment region,
      HostBytes account,
      @Nullable PinnedMemory pin) {
    this.layout = layout;
    this.file = file;
    this.arena = arena;
    this.region = region.asReadOnly();
    this.account = account;
    this.pin = pin;
    account.addShared(region.byteSize());
  }

  @Override
  MemorySegment tensor(int index) {
    return region.asSlice(RegionHeader.BYTES + layout.offset(index), layout.size(index));
  }

  @Override
  long heldBytes() {
    return region.byteSize();
  }

  @Override
  boolean isShared() {
    return true;
  }

  @Override
  boolean hasHugePages() {
    return false;
  }

  @Override
  boolean isPinned() {
    return pin != null;
  }

  @Override
  boolean isIntact() {
    try {
      return Libc.size(file.fd()) == region.byteSize();
    } catch (IOException _) {
      return false;
    }
  }

  /** Not leased again: the next request makes another. */
  void disown() {
    try {
      file.unlink();
    } catch (IOException _) {
      // Whoever opens it sees that it is too short.
    }
  }

  @Override
  void free() {
    if (pin != null) {
      pin.close();
    }
    arena.close();
    file.leave();
    account.addShared(-region.byteSize());
  }
}
