/** Status, health and metrics on the node's port. Reads snapshots; queries no process. */
@NullMarked
package dev.roundhouse.node.actuator;

import org.jspecify.annotations.NullMarked;
