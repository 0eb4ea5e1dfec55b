/** How things are measured: in pairs, in separate processes, with vCPUs asleep or awake. */
@NullMarked
package dev.roundhouse.measure;

import org.jspecify.annotations.NullMarked;
