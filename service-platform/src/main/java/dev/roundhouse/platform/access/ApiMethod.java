package dev.roundhouse.platform.access;

import static dev.roundhouse.platform.access.ApiCategory.CONTROL;
import static dev.roundhouse.platform.access.ApiCategory.HEALTH;
import static dev.roundhouse.platform.access.ApiCategory.INFERENCE;
import static dev.roundhouse.platform.access.ApiCategory.LOGGING;
import static dev.roundhouse.platform.access.ApiCategory.METADATA;
import static dev.roundhouse.platform.access.ApiCategory.MODEL_REPOSITORY;
import static dev.roundhouse.platform.access.ApiCategory.SHARED_MEMORY;
import static dev.roundhouse.platform.access.ApiCategory.STATISTICS;
import static dev.roundhouse.platform.access.ApiCategory.TRACE;

import java.util.HashMap;
import java.util.Map;

/**
 * A method of a gRPC service, and with it the routes of REST that it answers.
 *
 * @param effect whether it changes something, or lets its caller do so
 */
public record ApiMethod(ApiCategory category, Effect effect) {

  /** Whether a call changes the server. */
  public enum Effect {
    READS,
    CHANGES,
    /**
     * It changes nothing, but tells names of shared memory: anyone who may run inference can read
     * and write another client's region by its name.
     */
    REVEALS,
    /** Its message decides: with settings it changes them, without it reads them. */
    AS_ASKED
  }

  private static final ApiMethod UNKNOWN = new ApiMethod(CONTROL, Effect.CHANGES);
  private static final Map<String, ApiMethod> KNOWN = new HashMap<>();

  static {
    String health = "grpc.health.v1.Health/";
    add(HEALTH, Effect.READS, health + "Check", health + "Watch", health + "List");
    add(METADATA, Effect.READS, "grpc.reflection.v1.ServerReflection/ServerReflectionInfo");
    add(METADATA, Effect.READS, "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo");
    String kserve = "inference.GRPCInferenceService/";
    add(HEALTH, Effect.READS, kserve + "ServerLive", kserve + "ServerReady", kserve + "ModelReady");
    add(METADATA, Effect.READS, kserve + "ServerMetadata", kserve + "ModelMetadata");
    add(METADATA, Effect.READS, kserve + "ModelConfig", kserve + "RepositoryIndex");
    add(INFERENCE, Effect.READS, kserve + "ModelInfer", kserve + "ModelStreamInfer");
    add(STATISTICS, Effect.READS, kserve + "ModelStatistics");
    String repository = kserve + "RepositoryModel";
    add(MODEL_REPOSITORY, Effect.CHANGES, repository + "Load", repository + "Unload");
    for (String kind : new String[] {"System", "Cuda"}) {
      String memory = kserve + kind + "SharedMemory";
      add(SHARED_MEMORY, Effect.REVEALS, memory + "Status");
      add(SHARED_MEMORY, Effect.CHANGES, memory + "Register", memory + "Unregister");
    }
    add(SHARED_MEMORY, Effect.READS, kserve + "IsSameIPCNamespace");
    add(TRACE, Effect.AS_ASKED, kserve + "TraceSetting");
    add(LOGGING, Effect.AS_ASKED, kserve + "LogSettings");
    String v1 = "nvidia.inferenceserver.GRPCService/";
    add(HEALTH, Effect.READS, v1 + "Health");
    add(METADATA, Effect.READS, v1 + "Status", v1 + "Repository");
    add(INFERENCE, Effect.READS, v1 + "Infer", v1 + "StreamInfer");
    add(MODEL_REPOSITORY, Effect.CHANGES, v1 + "ModelControl");
    add(SHARED_MEMORY, Effect.CHANGES, v1 + "SharedMemoryControl"); // it tells names as well
    String control = "reactant_control.ControlService/";
    add(CONTROL, Effect.READS, control + "ModelControlStatus");
    add(CONTROL, Effect.CHANGES, control + "SetModelResidency", control + "SetModelPolicy");
    add(CONTROL, Effect.CHANGES, control + "CompactMemory");
    String gateway = "reactant_control.GatewayControlService/";
    add(CONTROL, Effect.READS, gateway + "GetSchedulingStatus");
    add(CONTROL, Effect.CHANGES, gateway + "SetSchedulingPolicy", gateway + "SetModelPlacement");
    add(CONTROL, Effect.CHANGES, gateway + "Repack");
  }

  private static void add(ApiCategory category, Effect effect, String... names) {
    for (String name : names) {
      KNOWN.put(name, new ApiMethod(category, effect));
    }
  }

  /**
   * A method that is not known is as strict as any.
   *
   * @param fullName service and method, as gRPC writes them
   */
  public static ApiMethod of(String fullName) {
    return KNOWN.getOrDefault(fullName, UNKNOWN);
  }

  /** Whether everybody may call it only where that is said: callers elsewhere need a token. */
  public boolean isGuarded() {
    return effect == Effect.CHANGES || effect == Effect.REVEALS;
  }

  /** Whether a method has a category of its own. */
  public static boolean isKnown(String fullName) {
    return KNOWN.containsKey(fullName);
  }
}
