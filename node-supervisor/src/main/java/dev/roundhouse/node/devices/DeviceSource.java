package dev.roundhouse.node.devices;

import java.util.List;

/** One way to find out which GPUs there are. */
public interface DeviceSource {
  /** As the log and the status name it. */
  String name();

  /** Ids in the source's order; none when it knows of none. */
  List<String> ids();
}
