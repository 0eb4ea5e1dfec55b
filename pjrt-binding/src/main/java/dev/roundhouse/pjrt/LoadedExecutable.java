package dev.roundhouse.pjrt;

import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.DeviceProgram.ProgramMemory;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** An executable in the plugin, and what is known of it; of one program, or of several. */
final class LoadedExecutable {
  final long address;
  final ProgramSignature signature;
  final List<TensorType> results;
  final ProgramMemory memory;

  // Of LoadedExecutables, under its lock.
  int programs = 1;
  LoadedExecutables.@Nullable Key key;

  LoadedExecutable(long address, ProgramSignature signature, ProgramMemory memory) {
    this.address = address;
    this.signature = signature;
    this.results = signature.results().stream().map(ProgramSignature.Result::type).toList();
    this.memory = memory;
  }
}
