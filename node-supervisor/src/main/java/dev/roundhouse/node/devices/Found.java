package dev.roundhouse.node.devices;

import java.util.List;

/**
 * What workers run on.
 *
 * @param gpus ids, one worker each; none for the CPU
 * @param source where that was found
 * @param numbered true when numbers among the ids count as NVML and nvidia-smi count, by bus id
 */
public record Found(List<String> gpus, String source, boolean numbered) {
  public Found {
    gpus = List.copyOf(gpus);
  }

  public boolean onCpu() {
    return gpus.isEmpty();
  }
}
