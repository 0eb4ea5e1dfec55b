/** How things are measured: in pairs, by processes of their own, with vCPUs asleep or awake. */
@NullMarked
package dev.roundhouse.measure;

import org.jspecify.annotations.NullMarked;
