package dev.roundhouse.node.upstream;

/** Where a key of upstream's may be written. */
enum Scope {
  /** The node file, at its top. */
  NODE("Node file (`REACTANT_NODE_FILE`)", "", ""),
  /** The node file under {@code global}, and variables. */
  WORKER("Workers (node file, under `global`)", "global.", "INFERENCE_SERVER_"),
  /** The gateway file, and variables. */
  GATEWAY("Gateway (`REACTANT_GATEWAY_FILE`)", "", "REACTANT_GATEWAY_"),
  /** Variables only. */
  VARIABLE("Other variables", "", "REACTANT_");

  final String title;

  /** In the file. */
  final String path;

  final String variablePrefix;

  Scope(String title, String path, String variablePrefix) {
    this.title = title;
    this.path = path;
    this.variablePrefix = variablePrefix;
  }
}
