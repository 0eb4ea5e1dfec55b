/**
 * What the node's port tells: status, health, metrics. Reads snapshots; asks no process anything.
 */
@NullMarked
package dev.roundhouse.node.actuator;

import org.jspecify.annotations.NullMarked;
