package dev.roundhouse.client;

import java.util.List;

/**
 * What a server says of itself.
 *
 * @param extensions of the protocol that it has, such as {@code system_shared_memory}
 */
public record ServerInfo(String name, String version, List<String> extensions) {}
