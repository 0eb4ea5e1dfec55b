package dev.roundhouse.worker.transport;

import java.util.ArrayList;
import java.util.List;

/**
 * What the server says of itself.
 *
 * @param platform of its device, reported for every model
 * @param extensions of the protocol that work, by Triton's names
 */
public record ServerIdentity(
    String name, String version, String platform, List<String> extensions) {

  /**
   * What works, no more.
   *
   * @param cudaMemory whether memory on the device can be registered
   */
  public static List<String> extensions(boolean sharedMemory, boolean cudaMemory) {
    List<String> names =
        new ArrayList<>(
            List.of(
                "classification",
                "sequence",
                "sequence(string_id)",
                "model_repository",
                "model_repository(unload_dependents)",
                "schedule_policy",
                "model_configuration"));
    if (sharedMemory) {
      names.add("system_shared_memory");
    }
    if (cudaMemory) {
      names.add("cuda_shared_memory");
    }
    names.addAll(List.of("binary_tensor_data", "parameters", "statistics", "trace", "logging"));
    return List.copyOf(names);
  }
}
